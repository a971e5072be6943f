// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Suite, suites } from "./suites.ts";

function suiteOf(name: string, cores = 2): Suite {
  return suites[name]?.(undefined, cores) ?? assert.fail(name);
}

const filesOf = (groups: Suite["alone"]): readonly string[] => (groups ?? []).flatMap(({ files }) => files);

test("every file of a suite runs once, in a group or alone", () => {
  for (const name of Object.keys(suites)) {
    const { groups, alone } = suiteOf(name);
    const files = [...filesOf(groups), ...filesOf(alone)];
    assert.ok(files.length > 0, name);
    assert.equal(new Set(files).size, files.length, name);
  }
});

test("files that measure a server run one at a time, beside the one that only waits", () => {
  const beside = suiteOf("chaos", 8).groups.filter((group) => group.inTurn !== true);
  assert.deepEqual(filesOf(beside), ["test/chaos/slow-loris.test.ts"]);
});

test("suites that wait run two files at a time, or one on one processor", () => {
  for (const name of ["interop", "clients", "conformance", "e2e", "hostile"]) {
    assert.deepEqual(
      [1, 2, 8].map((cores) => suiteOf(name, cores).atOnce),
      [1, 2, 2],
      name,
    );
  }
});

test("the file that takes longest begins first", () => {
  assert.equal(suiteOf("conformance", 2).groups[0]?.title, "test/conformance/conformance.test.ts");
});

test("files that use what the whole machine shares run in turn or alone", () => {
  const { groups } = suiteOf("interop");
  const inTurn = groups.filter((group) => group.inTurn).map(({ title }) => title);
  assert.ok(inTurn.includes("test/interop/packages/own-networks.test.ts"));
  assert.ok(inTurn.every((title) => /\/(certificates|packages|providers)\//.test(title)));
  assert.deepEqual(
    groups.slice(0, inTurn.length).map(({ title }) => title),
    inTurn,
  );
  const alone = filesOf(suiteOf("e2e").alone);
  assert.ok(alone.includes("test/e2e/load/upgrades.test.ts"));
  assert.ok(!alone.includes("test/e2e/functions/results.test.ts"));
});

test("a selection is split as the whole suite is", () => {
  const { groups, alone } = suites["e2e"]?.((file) => file.includes("/load/"), 2) ?? assert.fail();
  assert.deepEqual(groups, []);
  assert.equal(filesOf(alone).length, filesOf(suiteOf("e2e").alone).filter((file) => file.includes("/load/")).length);
});

test("the slowest unit tests start first", () => {
  const titles = suiteOf("unit").groups.map(({ title }) => title);
  assert.match(titles[0] ?? "", /^packages\/function-process/);
  const placeOf = (folder: string): number => titles.findIndex((title) => title.split(" ")[0] === folder);
  assert.ok(placeOf("tools") >= 0);
  assert.ok(placeOf("tools") < placeOf("packages/kube-builtin"));
});

test("tests of the command have a suite of their own, and a selection of unit tests finds them too", () => {
  const inUnit = new Set(filesOf(suiteOf("unit").groups));
  const command = filesOf(suiteOf("command").groups);
  for (const name of ["quickstart-guide", "guide", "up/up-command"]) {
    assert.ok(command.includes(`packages/cli/src/${name}.test.ts`), name);
  }
  assert.deepEqual(
    command.filter((file) => inUnit.has(file)),
    [],
  );
  const selected = suites["unit"]?.((file) => file.startsWith("packages/"), 2) ?? assert.fail();
  const found = new Set(filesOf(selected.groups));
  assert.deepEqual(
    command.filter((file) => !found.has(file)),
    [],
  );
});
