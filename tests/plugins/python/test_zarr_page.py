"""The examples of docs/zarr.md run one after the other, and that of the package's page."""

import os
import re
import tempfile
import unittest

from support import ROOT


class Page(unittest.TestCase):
    def run_examples(self, page, least, chosen=lambda number, text: True):
        examples = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
        examples = [text for number, text in enumerate(examples) if chosen(number, text)]
        self.assertGreaterEqual(len(examples), least)
        self.addCleanup(os.chdir, os.getcwd())
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            names = {}
            for number, example in enumerate(examples):
                exec(compile(example, "example %d of %s" % (number, page), "exec"), names)
            os.chdir("/")

    def test_page(self):
        self.run_examples("docs/zarr.md", 9)

    def test_page_of_the_package(self):
        chosen = lambda number, text: number == 0 or "factz.zarr" in text  # noqa: E731
        self.run_examples("plugins/python/README.md", 2, chosen)


if __name__ == "__main__":
    unittest.main()
