// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { commandTable } from "../packages/cli/src/commands/command-table.ts";
import { manPages, roffOf } from "./man-pages.ts";

const pages = manPages("1.2.3");

test("every command has a manual page with its options, arguments and examples", () => {
  assert.equal(pages.size, commandTable.length + 1);
  for (const { name, options = [], arguments: args = [] } of commandTable) {
    const text = pages.get(`purlin-${name.replaceAll(" ", "-")}.1`) ?? "";
    assert.match(text, /^\.TH PURLIN-[A-Z-]+ 1 "" "purlin 1\.2\.3" "Purlin"$/m, name);
    const plain = text.replaceAll("\\-", "-").replaceAll("\\e", "\\");
    for (const { flags } of options.filter(({ hidden }) => hidden !== true))
      assert.ok(plain.includes(`.B ${flags}\n`), flags);
    for (const arg of args) assert.ok(plain.includes(`.B ${arg.name}\n`), `${name}: ${arg.name}`);
    assert.match(text, /^\.SH EXAMPLES\n(.*\n)*?\.EX\n(.*\n)*?purlin /m, name);
  }
  assert.match(pages.get("purlin.1") ?? "", /^\.B purlin get\n/m);
});

test("the pages only use requests of the man macros, and close what they open", () => {
  const known = new Set([
    ".TH",
    ".SH",
    ".SS",
    ".PP",
    ".TP",
    ".IP",
    ".RS",
    ".RE",
    ".EX",
    ".EE",
    ".B",
    ".I",
    ".BR",
    ".RI",
    '.\\"',
  ]);
  for (const [file, text] of pages) {
    const requests = text.split("\n").filter((line) => /^[.']/.test(line));
    const unknown = requests.filter((line) => !known.has(line.split(" ")[0] ?? ""));
    assert.deepEqual(unknown, [], file);
    const count = (name: string): number => requests.filter((line) => line.split(" ")[0] === name).length;
    assert.deepEqual([count(".EX"), count(".RS")], [count(".EE"), count(".RE")], file);
  }
});

test("text that looks like a request, dashes and backslashes are printed as they are", () => {
  assert.equal(roffOf("`.purlin` is a-b\\c"), "\\fB.purlin\\fP is a\\-b\\ec");
  assert.equal(
    roffOf(".x\n\n```sh\n.y\n```"),
    "\\&.x\n.PP\n.PP\n.RS 4\n.EX\n\\&.y\n.EE\n.RE".replace(".PP\n.PP", ".PP"),
  );
  assert.equal(roffOf("a\n\n- [b](c.md)\n"), "a\n.IP \\(bu 2\nb");
});

test("a row of a table is a tagged paragraph, without the headings", () => {
  assert.equal(
    roffOf("a\n\n| key | holds |\n|---|---|\n| `.b` | c-d |\n| e | f |\n\ng"),
    "a\n.PP\n.TP\n\\fB.b\\fP\nc\\-d\n.TP\ne\nf\n.PP\ng",
  );
  for (const [file, text] of pages) assert.doesNotMatch(text, /^\|/m, file);
});
