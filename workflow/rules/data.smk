# What is asked: the cohort, the items of each benchmark, the exemplars before five-shot prompts.


rule cohort:
    output:
        "results/cohort.json",
    log:
        "results/logs/cohort.log",
    params:
        cohort=COHORT.described(),
    run:
        write_described(params.cohort, output[0], log[0])


rule benchmark_items:
    input:
        file=lambda wc: [ancient(f) for f in user_file(wc.benchmark, "items")],
    output:
        "results/items/{benchmark}.parquet",
    log:
        "results/logs/benchmark_items/{benchmark}.log",
    conda:
        "../../envs/data.yaml"
    params:
        k=lambda wc: COHORT.benchmarks[wc.benchmark]["K"],
        seed=lambda wc: builtin_seed(wc.benchmark, "items"),
        file=lambda wc, input: ["--file", *input.file] if input.file else [],
        content=lambda wc: input_digests(user_file(wc.benchmark, "items")),
        code=lambda wc: items_code(wc.benchmark),
    shell:
        """
        python -m scripts.benchmark_items --benchmark {wildcards.benchmark} --k {params.k} \
            {params.seed} {params.file:q} --output {output:q} --log {log:q}
        """


rule exemplars:
    input:
        file=lambda wc: [ancient(f) for f in user_file(wc.benchmark, "exemplars")],
    output:
        "results/exemplars/{benchmark}.parquet",
    log:
        "results/logs/exemplars/{benchmark}.log",
    conda:
        "../../envs/data.yaml"
    params:
        k=lambda wc: COHORT.benchmarks[wc.benchmark]["K"],
        seed=lambda wc: builtin_seed(wc.benchmark, "exemplars"),
        file=lambda wc, input: ["--file", *input.file] if input.file else [],
        content=lambda wc: input_digests(user_file(wc.benchmark, "exemplars")),
        code=lambda wc: items_code(wc.benchmark),
    shell:
        """
        python -m scripts.benchmark_items --exemplars --benchmark {wildcards.benchmark} \
            --k {params.k} {params.seed} {params.file:q} --output {output:q} --log {log:q}
        """


rule data:
    input:
        expand("results/items/{benchmark}.parquet", benchmark=BENCHMARKS),
