# What is answered: each checkpoint resolved once, then one sweep per cell.


rule checkpoint:
    input:
        files=lambda wc: [ancient(f) for f in checkpoint_files(wc.checkpoint)],
    output:
        "results/checkpoints/{checkpoint}/checkpoint.json",
    log:
        "results/logs/checkpoint/{checkpoint}.log",
    conda:
        conda_in(checkpoint_environment)
    resources:
        mem_mb=checkpoint_memory,
        runtime=minutes(60),
    params:
        python=python_in(checkpoint_environment),
        source=lambda wc: json.dumps(COHORT.source(wc.checkpoint), sort_keys=True),
        content=lambda wc: input_digests(checkpoint_files(wc.checkpoint)),
        code=code_digests("scripts/prepare_checkpoint.py"),
    shell:
        """
        {params.python:q} -m scripts.prepare_checkpoint --checkpoint {wildcards.checkpoint} \
            --source {params.source:q} --output {output:q} --log {log:q}
        """


if SIMULATES:

    rule simulated_sweeps:
        input:
            cohort="results/cohort.json",
        output:
            directory("results/simulated/{readout}/{benchmark}"),
        log:
            "results/logs/simulated_sweeps/{readout}/{benchmark}.log",
        conda:
            "../../envs/statistics.yaml"
        resources:
            mem_mb=memory(2000),
            runtime=minutes(60),
        params:
            python=python_in("statistics"),
            seed=config["seed"],
            code=code_digests("scripts/simulate.py"),
        shell:
            """
            {params.python:q} -m scripts.simulate --readout {wildcards.readout} --benchmark {wildcards.benchmark} \
                --cohort {input.cohort:q} --seed {params.seed} --folder {output:q} --log {log:q}
            """

elif config["sweeps"] is None:

    rule first_token_sweep:
        input:
            item_file="results/items/{benchmark}.parquet",
            exemplars=branch(
                lambda wc: wc.readout == "five-shot",
                then="results/exemplars/{benchmark}.parquet",
            ),
            manifest="results/checkpoints/{checkpoint}/checkpoint.json",
        output:
            "results/sweeps/{reread}{readout}/{benchmark}/{checkpoint}.parquet",
        log:
            "results/logs/first_token_sweep/{reread}{readout}/{benchmark}/{checkpoint}.log",
        benchmark:
            "results/benchmarks/first_token_sweep/{reread}{readout}/{benchmark}/{checkpoint}.tsv"
        wildcard_constraints:
            readout="|".join(FIRST_TOKEN_READOUTS),
        conda:
            conda_in(letters_environment)
        threads: cell_threads
        resources:
            mem_mb=cell_memory,
            runtime=cell_minutes,
            gpu=cell_gpu,
            gres=cell_gres if config["gres"] else "",
            nodes=1,  # a cluster must not take the GPUs of a cell from several
        params:
            k=lambda wc: COHORT.benchmarks[wc.benchmark]["K"],
            backend=config["backend"],
            device=config["device"],
            dtype=config["dtype"],
            chunk_items=config["chunk_items"],
            resume="--resume" if config["resume"] else "--no-resume",
            sample=lambda wc: sample_arguments(wc.readout) + reread_arguments(wc.reread),
            exemplars=lambda wc, input: (
                ["--exemplars", input.exemplars] if input.exemplars else []
            ),
            # A function of `input` is not compared by Snakemake: which GPUs there are changes nothing.
            runs_on=lambda wc, input: hardware_arguments(wc),
            python=python_in(letters_environment),
            code=code_digests("scripts/first_token_sweep.py"),
        shell:
            """
            OMP_NUM_THREADS={threads} {params.python:q} -m scripts.first_token_sweep \
                --readout {wildcards.readout} --benchmark {wildcards.benchmark} \
                --checkpoint {wildcards.checkpoint} --k {params.k} --items {input.item_file:q} \
                {params.exemplars:q} --manifest {input.manifest:q} --backend {params.backend} {params.runs_on} --dtype {params.dtype} --threads {threads} \
                --chunk-items {params.chunk_items} {params.resume} \
                {params.sample:q} --journal results/journal \
                --output {output:q} --log {log:q}
            """

    rule generated_sweep:
        input:
            item_file="results/items/{benchmark}.parquet",
            manifest="results/checkpoints/{checkpoint}/checkpoint.json",
        output:
            sweep="results/sweeps/{readout}/{benchmark}/{checkpoint}.parquet",
            traces="results/traces/{readout}/{benchmark}/{checkpoint}.jsonl.gz",
        log:
            "results/logs/generated_sweep/{readout}/{benchmark}/{checkpoint}.log",
        benchmark:
            "results/benchmarks/generated_sweep/{readout}/{benchmark}/{checkpoint}.tsv"
        wildcard_constraints:
            readout="|".join(GENERATED_READOUTS),
        conda:
            conda_in(answers_environment)
        threads: cell_threads
        resources:
            mem_mb=cell_memory,
            runtime=cell_minutes,
            gpu=cell_gpu,
            gres=cell_gres if config["gres"] else "",
            nodes=1,  # a cluster must not take the GPUs of a cell from several
        params:
            k=lambda wc: COHORT.benchmarks[wc.benchmark]["K"],
            backend=config["backend"],
            max_tokens=lambda wc: config["max_tokens"][wc.readout],
            device=config["device"],
            dtype=config["dtype"],
            chunk_items=config["chunk_items"],
            resume="--resume" if config["resume"] else "--no-resume",
            sample=lambda wc: sample_arguments(wc.readout),
            # A function of `input` is not compared by Snakemake: which GPUs there are changes nothing.
            runs_on=lambda wc, input: hardware_arguments(wc),
            python=python_in(answers_environment),
            code=code_digests("scripts/generated_sweep.py"),
        shell:
            """
            OMP_NUM_THREADS={threads} {params.python:q} -m scripts.generated_sweep \
                --readout {wildcards.readout} --benchmark {wildcards.benchmark} \
                --checkpoint {wildcards.checkpoint} --k {params.k} --items {input.item_file:q} \
                --manifest {input.manifest:q} --backend {params.backend} --max-tokens {params.max_tokens} \
                {params.runs_on} --dtype {params.dtype} --threads {threads} \
                --chunk-items {params.chunk_items} {params.resume} {params.sample:q} \
                --journal results/journal \
                --output {output.sweep:q} --traces {output.traces:q} --log {log:q}
            """

    rule closed_sweep:
        input:
            item_file="results/items/{benchmark}.parquet",
        output:
            sweep="results/sweeps/{readout}/{benchmark}/{checkpoint}.parquet",
            replies="results/replies/{readout}/{benchmark}/{checkpoint}.jsonl",
        log:
            "results/logs/closed_sweep/{readout}/{benchmark}/{checkpoint}.log",
        wildcard_constraints:
            readout="closed",
        localrule: True
        conda:
            "../../envs/closed.yaml"
        threads: 1
        resources:
            mem_mb=1000,
            api=1,
        params:
            python=python_in("closed"),
            k=lambda wc: COHORT.benchmarks[wc.benchmark]["K"],
            shaping=lambda wc: endpoint.Endpoint.of(
                COHORT.source(wc.checkpoint)
            ).shaping(),
            # Functions of `input` are not compared by Snakemake: another price, limit or number of
            # threads is no reason to make a sweep anew.
            source=lambda wc, input: json.dumps(
                COHORT.source(wc.checkpoint), sort_keys=True
            ),
            cost_limit=lambda wc, input: (
                []
                if config["cost_limit"] is None
                else ["--cost-limit", str(config["cost_limit"])]
            ),
            resume=lambda wc, input: "--resume" if config["resume"] else "--no-resume",
            sample=lambda wc: sample_arguments(wc.readout),
            code=code_digests("scripts/closed_sweep.py"),
        shell:
            """
            {params.python:q} -m scripts.closed_sweep \
                --readout {wildcards.readout} --benchmark {wildcards.benchmark} \
                --checkpoint {wildcards.checkpoint} --k {params.k} --items {input.item_file:q} \
                --source {params.source:q} {params.cost_limit:q} {params.resume} {params.sample:q} \
                --journal results/journal/closed \
                --output {output.sweep:q} --replies {output.replies:q} --log {log:q}
            """


onstart:
    told = told_at_start(workflow.dag.needrun_jobs())
    if lacking := missing_keys(workflow.dag.needrun_jobs()):
        raise WorkflowError("\n".join(lacking))
    if told:
        print(told, file=sys.stderr)


rule sweeps:
    input:
        sweep_inputs(lambda cell: True),
