# A figure is computed into a CSV and drawn from it, so a change of style only draws again.


rule figure_data:
    input:
        statistics=lambda wc: statistics_files(catalogue.FIGURES[wc.figure][2]),
        cohort="results/cohort.json",
    output:
        data="figures/figure{figure}.csv",
        stamp="results/stamps/figure{figure}.json",
    log:
        "results/logs/figure_data/{figure}.log",
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
            "scripts/figure_data.py", catalogue.FIGURES[wc.figure][1]
        ),
    shell:
        """
        {params.python:q} -m scripts.figure_data --figure {wildcards.figure} --statistics {params.statistics} \
            --cohort {input.cohort:q} --draws {params.draws} --seed {params.seed} --made {params.made:q} \
            --output {output.data:q} --stamp {output.stamp:q} --log {log:q}
        """


rule figure:
    input:
        data="figures/figure{figure}.csv",
        stamp="results/stamps/figure{figure}.json",
    output:
        report(
            "figures/figure{figure}.png",
            category="Figures",
            labels={"figure": "{figure}"},
            caption="../report/figure.rst",
        ),
        multiext("figures/figure{figure}", ".pdf", ".svg"),
    log:
        "results/logs/figure/{figure}.log",
    localrule: True
    conda:
        "../../envs/figures.yaml"
    params:
        python=python_in("figures"),
        name=COHORT.label,
        made=made,
        code=lambda wc: code_digests(
            "scripts/figure.py", catalogue.FIGURES[wc.figure][0]
        ),
    shell:
        """
        {params.python:q} -m scripts.figure --figure {wildcards.figure} --data {input.data:q} --stamp {input.stamp:q} \
            --made {params.made:q} --cohort-name {params.name:q} --output {output:q} --log {log:q}
        """


rule figures:
    input:
        expand(
            "figures/figure{figure}.{ending}",
            figure=FIGURES,
            ending=["csv", "pdf", "png", "svg"],
        ),
