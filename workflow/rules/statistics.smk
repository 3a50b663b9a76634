# What the answers say, cell by cell: one job per benchmark scores all of its sweeps.

SCORES = (
    "cells",
    "identities",
    "calibration",
    "priors",
    "ties",
    "comparison",
    "pair_reversals",
    "halves",
    "sweeps",
    "noise",
)
SCORES_CSV = ("cells", "identities", "calibration", "priors", "noise")


rule score_benchmark:
    input:
        sweeps=lambda wc: sweep_inputs(lambda cell: cell.benchmark == wc.benchmark),
        rereads=lambda wc: reread_inputs(wc.benchmark),
    output:
        expand("results/statistics/{{benchmark}}/{name}.parquet", name=SCORES),
    log:
        "results/logs/score_benchmark/{benchmark}.log",
    conda:
        "../../envs/statistics.yaml"
    resources:
        mem_mb=memory(2000),
        runtime=minutes(120),
    params:
        python=python_in("statistics"),
        k=lambda wc: COHORT.benchmarks[wc.benchmark]["K"],
        sweeps=lambda wc: [
            sweep_path(SWEEPS, *c) for c in COHORT.cells if c.benchmark == wc.benchmark
        ],
        noise=["--noise", NOISE_FOLDER, "--variants", *NOISE] if NOISE else [],
        seed=config["seed"],
        repetitions=config["repetitions"],
        simulated="--simulated" if COHORT.simulated else "",
        folder=subpath(output[0], parent=True),
        code=code_digests("scripts/score_benchmark.py"),
    shell:
        """
        {params.python:q} -m scripts.score_benchmark --benchmark {wildcards.benchmark} --k {params.k} --sweeps {params.sweeps:q} \
            {params.noise:q} --seed {params.seed} --repetitions {params.repetitions} {params.simulated} \
            --folder {params.folder:q} --log {log:q}
        """


rule gather_statistics:
    input:
        expand(
            "results/statistics/{benchmark}/{name}.parquet",
            benchmark=BENCHMARKS,
            name=SCORES,
        ),
    output:
        expand("results/statistics/{name}.parquet", name=SCORES),
        expand("results/statistics/{name}.csv", name=SCORES_CSV),
    log:
        "results/logs/gather_statistics.log",
    localrule: True
    conda:
        "../../envs/statistics.yaml"
    params:
        python=python_in("statistics"),
        folders=expand("results/statistics/{benchmark}", benchmark=BENCHMARKS),
        folder=subpath(output[0], parent=True),
        code=code_digests("scripts/gather_statistics.py"),
    shell:
        """
        {params.python:q} -m scripts.gather_statistics --folders {params.folders:q} --folder {params.folder:q} \
            --log {log:q}
        """


rule analysis:
    input:
        sweeps=lambda wc: sweep_inputs(lambda cell: reads(wc.analysis, cell)),
        cohort="results/cohort.json",
    output:
        "results/statistics/{analysis}.parquet",
    log:
        "results/logs/analysis/{analysis}.log",
    conda:
        "../../envs/statistics.yaml"
    resources:
        mem_mb=memory(4000),
        runtime=minutes(120),
    params:
        python=python_in("statistics"),
        root=SWEEPS,
        draws=config["draws"],
        repetitions=config["repetitions"],
        seed=config["seed"],
        code=lambda wc: code_digests(
            "scripts/analysis.py", catalogue.ANALYSES[wc.analysis].module
        ),
    shell:
        """
        {params.python:q} -m scripts.analysis --analysis {wildcards.analysis} --sweeps {params.root:q} \
            --cohort {input.cohort:q} --draws {params.draws} --repetitions {params.repetitions} \
            --seed {params.seed} --output {output:q} --log {log:q}
        """


rule summary:
    input:
        cells="results/statistics/cells.parquet",
        identities="results/statistics/identities.parquet",
        sweeps="results/statistics/sweeps.parquet",
    output:
        "results/summary.md",
    log:
        "results/logs/summary.log",
    localrule: True
    conda:
        "../../envs/statistics.yaml"
    params:
        python=python_in("statistics"),
        name=COHORT.label,
        small_mass=config["small_mass"],
        code=code_digests("scripts/summary.py"),
    shell:
        """
        {params.python:q} -m scripts.summary --cells {input.cells:q} --identities {input.identities:q} --sweeps {input.sweeps:q} \
            --cohort-name {params.name:q} --small-mass {params.small_mass} --output {output:q} --log {log:q}
        """


rule statistics:
    input:
        rules.gather_statistics.output,
        expand("results/statistics/{analysis}.parquet", analysis=ANALYSES),
