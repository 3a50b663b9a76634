# One Bias Score, Two Factors: the replication workflow. `snakemake --cores all` makes everything.
import gc

from snakemake.utils import min_version

min_version("9.27")
# The objects of a large DAG stay to the end: looking through them every 700 allocations takes a tenth of a start.
gc.set_threshold(200_000)


configfile: f"{workflow.basedir}/config.yaml"


include: "workflow/rules/environments.smk"
include: "workflow/rules/common.smk"
include: "workflow/rules/items.smk"
include: "workflow/rules/resources.smk"
include: "workflow/rules/stamps.smk"
include: "workflow/rules/preflight.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/sweeps.smk"
include: "workflow/rules/statistics.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/paper.smk"
include: "workflow/rules/publish.smk"


report: "workflow/report/workflow.rst"


rule all:
    default_target: True
    input:
        rules.summary.output,
        rules.data_audit.output if ASKS else [],
        rules.statistics.input,
        rules.tables.input,
        rules.figures.input,
        rules.agreement.output,
        rules.paper.output,
        rules.provenance.output,
