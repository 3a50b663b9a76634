# What is asked: the cohort, the items of each benchmark, the exemplars before five-shot prompts.


rule cohort:
    output:
        "results/cohort.json",
    log:
        "results/logs/cohort.log",
    localrule: True
    params:
        cohort=COHORT.described(),
    run:
        write_described(params.cohort, output[0], log[0])


rule benchmark_files:
    output:
        "results/data/{benchmark}/{part}.json",
    log:
        "results/logs/benchmark_files/{benchmark}/{part}.log",
    localrule: True
    conda:
        "../../envs/data.yaml"
    params:
        python=python_in("data"),
        published=lambda wc: published_arguments(wc.benchmark),
        files=lambda wc: published_files(wc.benchmark, wc.part),
        # Where bytes come from is no reason to fetch them again; as a function of `input` it is not
        # compared with earlier runs.
        mirror=lambda wc, input: (
            ["--mirror", config["mirror"]] if config["mirror"] else []
        ),
    shell:
        """
        {params.python:q} -m scripts.benchmark_files {params.published:q} --part {wildcards.part} \
            --store results/mirror {params.mirror:q} --output {output:q} --log {log:q}
        """


rule benchmark_items:
    input:
        file=lambda wc: [ancient(f) for f in user_file(wc.benchmark, "items")],
        manifest=lambda wc: files_of_published(wc.benchmark, "items"),
    output:
        "results/items/{benchmark}.parquet",
    log:
        "results/logs/benchmark_items/{benchmark}.log",
    localrule: True
    conda:
        "../../envs/data.yaml"
    params:
        python=python_in("data"),
        k=lambda wc: COHORT.benchmarks[wc.benchmark]["K"],
        made=lambda wc: items_arguments(wc.benchmark, "items"),
        file=lambda wc, input: ["--file", *input.file] if input.file else [],
        manifest=lambda wc, input: (
            ["--manifest", *input.manifest, "--store", "results/mirror"]
            if input.manifest
            else []
        ),
        content=lambda wc: input_digests(user_file(wc.benchmark, "items")),
        code=lambda wc: items_code(wc.benchmark, "items"),
    shell:
        """
        {params.python:q} -m scripts.benchmark_items --benchmark {wildcards.benchmark} --k {params.k} \
            {params.made:q} {params.file:q} {params.manifest:q} --output {output:q} --log {log:q}
        """


rule exemplars:
    input:
        file=lambda wc: [ancient(f) for f in user_file(wc.benchmark, "exemplars")],
        manifests=lambda wc: files_of_published(wc.benchmark, "items", "exemplars"),
    output:
        "results/exemplars/{benchmark}.parquet",
    log:
        "results/logs/exemplars/{benchmark}.log",
    localrule: True
    conda:
        "../../envs/data.yaml"
    params:
        python=python_in("data"),
        k=lambda wc: COHORT.benchmarks[wc.benchmark]["K"],
        made=lambda wc: items_arguments(wc.benchmark, "exemplars"),
        file=lambda wc, input: ["--file", *input.file] if input.file else [],
        manifests=lambda wc, input: (
            ["--manifest", input.manifests[0], "--pool", input.manifests[1]]
            + ["--store", "results/mirror"]
            if input.manifests
            else []
        ),
        content=lambda wc: input_digests(user_file(wc.benchmark, "exemplars")),
        code=lambda wc: items_code(wc.benchmark, "exemplars"),
    shell:
        """
        {params.python:q} -m scripts.benchmark_items --exemplars --benchmark {wildcards.benchmark} \
            --k {params.k} {params.made:q} {params.file:q} {params.manifests:q} \
            --output {output:q} --log {log:q}
        """


rule data_audit:
    input:
        files=expand("results/items/{benchmark}.parquet", benchmark=BENCHMARKS),
        exemplars=expand("results/exemplars/{benchmark}.parquet", benchmark=FIVE_SHOT),
        manifests=[m for b in BENCHMARKS for m in files_of_published(b, "items")],
    output:
        markdown="results/data_audit.md",
        csv="results/data_audit.csv",
    log:
        "results/logs/data_audit.log",
    localrule: True
    conda:
        "../../envs/data.yaml"
    params:
        python=python_in("data"),
        benchmarks=json.dumps(
            [audited(benchmark) for benchmark in BENCHMARKS], sort_keys=True
        ),
        name=COHORT.label,
        repairs=json.dumps(config["repairs"], sort_keys=True),
        seed=config["seed"],
        code=code_digests(
            "scripts/data_audit.py",
            *(module for b in BENCHMARKS for module in published_module(b)),
        ),
    shell:
        """
        {params.python:q} -m scripts.data_audit --cohort-name {params.name:q} \
            --benchmarks {params.benchmarks:q} --repairs {params.repairs:q} --seed {params.seed} --results results \
            --markdown {output.markdown:q} --csv {output.csv:q} --log {log:q}
        """


rule data:
    input:
        files_of_data,


rule mirror:
    input:
        files_of_mirror,
