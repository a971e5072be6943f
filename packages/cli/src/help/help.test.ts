// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { runInProcess } from "../../test/test-io.ts";
import { commandTable } from "../commands/command-table.ts";
import { debugOption } from "../commands/program.ts";
import { helpMarkdown } from "./help-text.ts";

test("every help file belongs to a command", () => {
  const files = readdirSync(new URL(".", import.meta.url)).filter((name) => name.endsWith(".md"));
  const expected = ["purlin", ...commandTable.map(({ name }) => name.replaceAll(" ", "-"))].map((name) => `${name}.md`);
  assert.deepEqual(files.sort(), expected.sort());
});

for (const { name } of commandTable) {
  test(`purlin ${name} --help shows usage, options and examples`, async () => {
    const { exitCode, stdout, stderr } = await runInProcess([...name.split(" "), "--help"]);
    assert.equal(exitCode, 0);
    assert.equal(stderr, "");
    assert.match(stdout, new RegExp(`^Usage: purlin ${name}`));
    assert.match(stdout, /-d, --debug/);
    assert.match(stdout, /\nExamples:\n(.*\n)*? {2}purlin /);
    assert.doesNotMatch(stdout, /[`#]{2}|\]\(/, "Markdown is for readers of the reference");
  });

  test(`purlin ${name} --help fits in 60 columns, and its examples can be copied`, async () => {
    const { stdout } = await runInProcess([...name.split(" "), "--help"], { columns: 60 });
    const long = stdout.split("\n").filter((line) => line.length > 60);
    assert.deepEqual(
      long.filter((line) => /\s\S+\s+\S/.test(line.trimEnd())),
      [],
      "only a single word may be longer",
    );
    const joined = stdout.replaceAll(/ \\\n\s+/g, " ");
    for (const [example] of helpMarkdown(name).matchAll(/^purlin .*$/gm))
      assert.ok(joined.includes(`  ${example}\n`), example);
  });

  test(`the examples of purlin ${name} use options that exist`, () => {
    const lines = helpMarkdown(name).matchAll(/^purlin (.*)$/gm);
    for (const [, line = ""] of lines) {
      const spec = commandTable.find((candidate) => line.startsWith(candidate.name));
      const options = [...line.matchAll(/ (--[a-z-]+)/g)].map(([, option = ""]) => option);
      const known = [...(spec?.options ?? []), debugOption].map(({ flags }) => /--[a-z-]+/.exec(flags)?.[0]);
      assert.deepEqual(
        options.filter((option) => !known.includes(option)),
        [],
        `purlin ${line}`,
      );
    }
  });
}
