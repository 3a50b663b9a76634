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
        name=COHORT.label,
        tables=TABLES,
        figures=FIGURES,
        code=code_digests("scripts/paper.py", files=["paper/paper.typ"]),
    shell:
        """
        python -m scripts.paper --cohort-name {params.name:q} --tables {params.tables} \
            --figures {params.figures} --output {output:q} --log {log:q}
        """
