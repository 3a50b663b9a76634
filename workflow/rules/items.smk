"""What items are made of, and where published benchmarks come from: functions for the rules of data."""


def user_file(benchmark: str, key: str) -> list[str]:
    """A user's own file of a benchmark, as a list for `input:`; empty for built-in benchmarks."""
    given = COHORT.benchmarks[benchmark].get(key)
    return [str(COHORT.find(given))] if given else []


def published(benchmark: str):
    """The published benchmark that a name of the cohort stands for, None for any other."""
    return registry.published_entry(COHORT.benchmarks[benchmark])


def published_module(benchmark: str) -> list[str]:
    """The module of a published benchmark, none of any other."""
    name = registry.builtin_name(COHORT.benchmarks[benchmark])
    return [registry.MODULES[name]] if name in registry.PUBLISHED else []


def published_arguments(benchmark: str) -> list[str]:
    """Which benchmark, source and subjects a job is about."""
    entry = COHORT.benchmarks[benchmark]
    arguments = ["--published", registry.builtin_name(entry)]
    if "variant" in entry:
        arguments += ["--variant", entry["variant"]]
    return arguments + (
        ["--subjects", *entry["subjects"]] if "subjects" in entry else []
    )


def items_arguments(benchmark: str, key: str) -> list[str]:
    """What a benchmark's `items` (or `exemplars`) are made of, and the settings they depend on.

    The seed is an argument, and so a reason to make them anew, only where something is drawn.
    """
    if user_file(benchmark, key):
        return []
    seed = ["--seed", str(config["seed"])]
    made = published(benchmark)
    if made is None:
        return ["--generated", benchmark, *seed]
    source = made.source(COHORT.benchmarks[benchmark].get("variant"))
    if key == "items" and not source.gold_first:
        seed = ["--seed", "0"]
    repairs = json.dumps(config["repairs"], sort_keys=True)
    return [*published_arguments(benchmark), "--repairs", repairs, *seed]


def files_of_published(benchmark: str, *parts: str) -> list[str]:
    """Manifests of a published benchmark's files, for `input:`; empty for any other benchmark."""
    if published(benchmark) is None:
        return []
    return [f"results/data/{benchmark}/{part}.json" for part in parts]


def published_files(benchmark: str, part: str) -> dict[str, str | None]:
    """Names and known digests of a published benchmark's files: a change of them fetches anew."""
    source = published(benchmark).source(COHORT.benchmarks[benchmark].get("variant"))
    pool = source.pool.files if source.pool else ()
    return {
        file.name: file.sha256 for file in (source.files if part == "items" else pool)
    }


def files_of_data(wildcards) -> list[str]:
    """Items of every benchmark of the cohort and their audit."""
    if COHORT.simulated:
        raise WorkflowError(
            f"cohort {COHORT.label} has no items, its answers are simulated: name another cohort, for "
            f"example `--config cohort=mini`"
        )
    items = [f"results/items/{benchmark}.parquet" for benchmark in BENCHMARKS]
    return [*items, *rules.data_audit.output]


def files_of_mirror(wildcards) -> list[str]:
    """Manifests of everything that a mirror of the cohort's published benchmarks holds."""
    manifests = [
        manifest
        for benchmark in ([] if COHORT.simulated else BENCHMARKS)
        for manifest in files_of_published(benchmark, *parts_of_published(benchmark))
    ]
    if not manifests:
        raise WorkflowError(
            f"cohort {COHORT.label} has no published benchmark that could be mirrored: name a cohort "
            f"that has, for example `--config cohort=real-mini`"
        )
    return manifests


def parts_of_published(benchmark: str) -> list[str]:
    """What a mirror of a published benchmark holds: its items, and its pool where it has one."""
    has_pool = published(benchmark) and published_files(benchmark, "exemplars")
    return ["items", "exemplars"] if has_pool else ["items"]


def audited(benchmark: str) -> dict:
    """What the data audit needs to know of a benchmark."""
    entry = COHORT.benchmarks[benchmark]
    about = {"name": benchmark, "title": COHORT.title(benchmark), "k": entry["K"]}
    about |= {key: entry.get(key, "not stated") for key in ("source", "licence")}
    if published(benchmark) is not None:
        about["published"] = registry.builtin_name(entry)
        about |= {key: entry[key] for key in ("variant", "subjects") if key in entry}
    return about | {"five_shot": benchmark in FIVE_SHOT}


def items_code(benchmark: str, key: str) -> dict[str, str]:
    """Code that makes a benchmark's items: the module of a built-in one besides the script."""
    name = registry.builtin_name(COHORT.benchmarks[benchmark])
    modules = [registry.MODULES[name]] if name and not user_file(benchmark, key) else []
    return code_digests("scripts/benchmark_items.py", *modules)
