# What a run rests on, one archive of it, and the way back: restored, made again, compared.

# Everything that is made of the sweeps.
OUTPUTS = [
    *rules.statistics.input,
    *rules.tables.input,
    *rules.figures.input,
    *rules.summary.output,
    *rules.agreement.output,
    *rules.cohort.output,
    *rules.paper.output,
]


rule provenance:
    input:
        outputs=OUTPUTS,
        sweeps=sweep_inputs(lambda cell: True),
        rereads=[path for b in BENCHMARKS for path in reread_inputs(b)],
        cohort="results/cohort.json",
    output:
        "results/provenance.json",
    log:
        "results/logs/provenance.log",
    localrule: True
    conda:
        "../../envs/statistics.yaml"
    params:
        python=python_in("statistics"),
        config=recorded_config(),
        root=lambda wc: SWEEPS,
        variants=list(NOISE),
        locks=lambda wc: lock_digests(),
        code=code_digests("scripts/record.py"),
    shell:
        """
        {params.python:q} -m scripts.record --config {params.config:q} --cohort {input.cohort:q} \
            --sweeps {params.root:q} --variants {params.variants:q} --outputs {input.outputs:q} \
            --output {output:q} --log {log:q}
        """


rule bundle:
    input:
        outputs=[*OUTPUTS, *rules.provenance.output],
        sweeps=rules.provenance.input.sweeps,
        rereads=rules.provenance.input.rereads,
    output:
        f"results/bundle/{COHORT.name}.tar",
    log:
        "results/logs/bundle.log",
    localrule: True
    conda:
        "../../envs/statistics.yaml"
    params:
        python=python_in("statistics"),
        settings=json.dumps(settings.of_statistics(config), sort_keys=True),
        # A function of `input` is not compared: where the cohort file lies changes nothing, what it holds does.
        cohort=lambda wc, input: str(COHORT.path),
        content=lambda wc: input_digests([str(COHORT.path)]),
        root=lambda wc: SWEEPS,
        variants=list(NOISE),
        locks=lambda wc: lock_digests(),
        code=code_digests("scripts/bundle.py"),
    shell:
        """
        {params.python:q} -m scripts.bundle --settings {params.settings:q} --cohort-file {params.cohort:q} \
            --sweeps {params.root:q} --variants {params.variants:q} --outputs {input.outputs:q} \
            --output {output:q} --log {log:q}
        """


rule restore:
    input:
        bundle_file,
    log:
        "results/logs/restore.log",
    localrule: True
    conda:
        "../../envs/statistics.yaml"
    params:
        python=python_in("statistics"),
    shell:
        """
        {params.python:q} -m scripts.restore --bundle {input:q} --into results/restored --log {log:q}
        """


# Made by the Python that runs now, since it calls Snakemake: `run` takes no environment of envs/.
rule verify:
    input:
        outputs=verified_outputs,
        sweeps=[] if config["bundle"] else rules.provenance.input.sweeps,
        rereads=[] if config["bundle"] else rules.provenance.input.rereads,
    log:
        "results/logs/verify.log",
    localrule: True
    # Run from a cluster profile there is no number of cores: local jobs then share `local-cores`.
    threads: workflow.resource_settings.cores or workflow.resource_settings.local_cores or 1
    params:
        given=(
            ["--bundle", config["bundle"]]
            if config["bundle"]
            else ["--settings", json.dumps(settings.of_statistics(config))]
            + ["--cohort-file", str(COHORT.path), "--sweeps", SWEEPS]
        ),
        outputs=lambda wc, input: (
            [] if config["bundle"] else ["--outputs", *input.outputs]
        ),
        options=(
            [
                "--options",
                *verification.with_conda(workflow.deployment_settings.conda_prefix),
            ]
            if WITH_CONDA
            else []
        ),
    run:
        shell(
            "{sys.executable} -m scripts.verify {params.given:q} {params.outputs:q} --work results/verify "
            "--cores {threads} --log {log:q} {params.options:q}"
        )
