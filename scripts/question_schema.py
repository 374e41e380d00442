"""Writes the JSON Schema of documents where the documentation has it: ``python scripts/question_schema.py``."""

from __future__ import annotations

import json
from pathlib import Path

from discreet.query.document_schema import document_schema
from discreet.query.question_documents import VERSION

if __name__ == "__main__":
    target = Path(__file__).parents[1] / "docs" / f"question-{VERSION}.schema.json"
    target.write_text(json.dumps(document_schema(), indent=1) + "\n", encoding="utf-8")
