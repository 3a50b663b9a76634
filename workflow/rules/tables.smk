# Every table by one rule; which tables there are and what each reads is optionbias/catalogue.py.


rule table:
    input:
        statistics=lambda wc: statistics_files(catalogue.TABLES[wc.table][1]),
        cohort="results/cohort.json",
    output:
        report(
            "results/tables/table{table}.csv",
            category="Tables",
            labels={"table": "{table}", "format": "csv"},
            caption="../report/table.rst",
        ),
        multiext("results/tables/table{table}", ".md", ".tex", ".typ"),
    log:
        "results/logs/table/{table}.log",
    localrule: True
    conda:
        "../../envs/statistics.yaml"
    params:
        python=python_in("statistics"),
        statistics="results/statistics",
        draws=config["draws"],
        seed=config["seed"],
        made=made,
        # Compared: a stamp tells the settings of the run that publishes it, also those that it makes no use of.
        stamped=settings.digest(config),
        code=lambda wc: code_digests(
            "scripts/table.py", catalogue.TABLES[wc.table][0].split(":")[0]
        ),
    shell:
        """
        {params.python:q} -m scripts.table --table {wildcards.table} --statistics {params.statistics} \
            --cohort {input.cohort:q} --draws {params.draws} --seed {params.seed} --made {params.made:q} \
            --output {output:q} --log {log:q}
        """


rule tables:
    input:
        expand(
            "results/tables/table{table}.{ending}",
            table=TABLES,
            ending=["csv", "md", "tex", "typ"],
        ),


rule agreement:
    input:
        tables=expand("results/tables/table{table}.csv", table=TABLES),
        cohort="results/cohort.json",
    output:
        csv="results/agreement.csv",
        page="results/agreement.md",
    log:
        "results/logs/agreement.log",
    localrule: True
    conda:
        "../../envs/statistics.yaml"
    params:
        python=python_in("statistics"),
        tables=lambda wc, input: str(Path(input.tables[0]).parent),
        code=code_digests(
            "scripts/agreement.py", files=["paper/reported/two_factors.csv"]
        ),
    shell:
        """
        {params.python:q} -m scripts.agreement --tables {params.tables:q} --cohort {input.cohort:q} \
            --csv {output.csv:q} --page {output.page:q} --log {log:q}
        """
