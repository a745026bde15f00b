"""The examples of docs/zarr.md run one after the other."""

import os
import re
import tempfile
import unittest

from support import ROOT


class Page(unittest.TestCase):
    def test_examples(self):
        page = (ROOT / "docs/zarr.md").read_text()
        examples = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
        self.assertGreater(len(examples), 6)
        self.addCleanup(os.chdir, os.getcwd())
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            names = {}
            for number, example in enumerate(examples):
                exec(compile(example, "example %d of docs/zarr.md" % number, "exec"), names)
            os.chdir("/")


if __name__ == "__main__":
    unittest.main()
