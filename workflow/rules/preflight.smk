# What a run would take, printed before anything runs. It has no output, so it runs whenever it is asked for.


rule preflight:
    log:
        "results/logs/preflight.log",
    localrule: True
    conda:
        "../../envs/data.yaml"
    params:
        python=python_in("data"),
        cohort=str(COHORT.path),
        config=json.dumps(config, sort_keys=True),
        sweeps=SWEEPS,
        cores=workflow.resource_settings.cores or os.cpu_count(),
        # Which executor runs is not known yet when this file is read.
        remote=lambda wc: "" if runs_here() else "--remote",
        code=code_digests("scripts/preflight.py"),
    shell:
        """
        {params.python:q} -m scripts.preflight --cohort {params.cohort:q} --config {params.config:q} \
            --sweeps {params.sweeps:q} --results results --cores {params.cores} {params.remote} \
            --page results/preflight.md --log {log:q}
        """
