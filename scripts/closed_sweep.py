"""Ask a closed model every call of one cell and write its sweep and its replies."""

import json
import signal
import sys
from pathlib import Path

from optionbias import logs
from optionbias.atomic import write_text
from optionbias.endpoint import Endpoint
from optionbias.readouts.arguments import asked_items, cell_parser
from optionbias.readouts.chat import Chat
from optionbias.readouts.closed import closed_orderings, read_cell
from optionbias.readouts.reading import Cell
from optionbias.redaction import Redactor
from optionbias.sweep import write_sweep

parser = cell_parser(__doc__)
parser.add_argument("--source", type=json.loads, required=True, help="as in the cohort file")
parser.add_argument("--cost-limit", type=float, help="US dollars")
parser.add_argument("--replies", type=Path, required=True)
args = parser.parse_args()
endpoint = Endpoint.of(args.source)


def main() -> None:
    cell = Cell(
        args.checkpoint,
        args.benchmark,
        args.readout,
        asked_items(args),
        (),
        closed_orderings(args.k),
        chunk_items=1,
    )
    chat = Chat(endpoint, args.checkpoint)
    try:
        reading = read_cell(cell, endpoint, chat, args.journal, args.cost_limit, args.resume)
    finally:
        chat.close()
    lines = (
        json.dumps(reply, sort_keys=True, ensure_ascii=False) + "\n" for reply in reading.replies
    )
    write_text(args.replies, "".join(lines))
    write_sweep(args.output, reading.sweep)


# A cluster ends a job so: calls in flight, which are paid for, are still kept.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
logs.run(main, args.log, Redactor(endpoint.secret()))
