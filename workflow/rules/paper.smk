# The paper: every table and figure of the run in one PDF.


rule paper:
    input:
        tables=expand("results/tables/table{table}.typ", table=TABLES),
        figures=expand("figures/figure{figure}.svg", figure=FIGURES),
    output:
        "paper/paper.pdf",
    log:
        "results/logs/paper.log",
    localrule: True
    conda:
        "../../envs/paper.yaml"
    params:
        python=python_in("paper"),
        # A function, as the linter takes the cohort `paper` for the beginning of a path.
        name=lambda wc: COHORT.label,
        tables=TABLES,
        figures=FIGURES,
        code=code_digests("scripts/paper.py", files=["paper/paper.typ"]),
    shell:
        """
        {params.python:q} -m scripts.paper --cohort-name {params.name:q} --tables {params.tables} \
            --figures {params.figures} --output {output:q} --log {log:q}
        """
