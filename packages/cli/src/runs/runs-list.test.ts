// SPDX-License-Identifier: Apache-2.0
// What `purlin runs ls` and `purlin runs blame` print of runs in a folder.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type RecordedFolder, recordedFolder } from "../../test/recorded-runs.ts";
import { type Outcome, runInProcess } from "../../test/test-io.ts";

let folder: RecordedFolder;

before(() => {
  folder = recordedFolder();
});
after(() => folder[Symbol.dispose]());

const idOf = (index: number): string => folder.ids[index] ?? assert.fail(`there is no run ${index}`);
const purlin = (words: readonly string[]): Promise<Outcome> =>
  runInProcess(["runs", ...words, "--recorder-dir", "runs"], { cwd: folder.path });
const lines = ({ stdout, exitCode, stderr }: Outcome): string[] => {
  assert.deepEqual([exitCode, stderr], [0, ""]);
  return stdout.trimEnd().split("\n");
};

describe("runs ls", () => {
  test("lists runs, newest first, filtered by resource, outcome and step", async () => {
    const listed = async (...words: readonly string[]): Promise<string[]> =>
      (await purlin(["ls", ...words])).stdout
        .trimEnd()
        .split("\n")
        .slice(1)
        .map((line) => `${folder.ids.indexOf(line.split(" ")[0] ?? "")}`);
    assert.deepEqual(await listed(), ["3", "2", "1", "0"]);
    assert.deepEqual(await listed("App/shop"), ["3", "2", "1", "0"]);
    assert.deepEqual(await listed("app.acme.org", "shop"), ["3", "2", "1", "0"]);
    assert.deepEqual(await listed("app.other.org/shop"), []);
    assert.deepEqual(await listed("--failed"), ["3", "2"]);
    assert.deepEqual(await listed("--step", "ready"), ["2", "1"]);
    assert.deepEqual(await listed("--failed", "--step", "ready"), ["2"]);
    assert.deepEqual(await listed("-n", "other"), []);
  });

  test("says that it found nothing, and refuses a time that is not one", async () => {
    const none = await purlin(["ls", "App/gone"]);
    assert.deepEqual(none, { exitCode: 0, stdout: "", stderr: "No runs found.\n" });
    const since = await purlin(["ls", "--since", "soon"]);
    assert.deepEqual(
      [since.exitCode, since.stderr],
      [2, 'error: --since: expected a duration such as 30m or 1h, not "soon"\n'],
    );
  });
});

describe("runs blame", () => {
  test("prints who set each field since when, from runs that did not fail", async () => {
    const [, ...rows] = lines(await purlin(["blame", "App/shop", "box"])).map((line) => line.split(/ {2,}/));
    assert.deepEqual(rows, [
      ["box", "(ready)", "true", "ready", "function-ready", "function-ready-abc", idOf(1), "-"],
      [
        "box",
        "apiVersion",
        '"acme.org/v1"',
        "compose",
        "function-compose",
        "function-compose-abc",
        `before ${idOf(0)}`,
        "-",
      ],
      ["box", "kind", '"Box"', "compose", "function-compose", "function-compose-abc", `before ${idOf(0)}`, "-"],
      ["box", "spec", '{"size":"s"}', "compose", "function-compose", "function-compose-abc", idOf(1), "-"],
    ]);
  });

  test("of an earlier run shows that one; errors say what was asked for", async () => {
    const [, row = ""] = lines(await purlin(["blame", "App/shop", "box", "spec.n", "--run", idOf(0)]));
    assert.match(row, /^box +spec\.n +1 +compose +function-compose +function-compose-abc +before /);
    const cases: readonly (readonly [words: readonly string[], exitCode: number, message: string])[] = [
      [
        ["box", "spec.gone"],
        1,
        `run ${idOf(1)} has no desired field at box spec.gone: see all with "purlin runs blame TYPE/NAME"`,
      ],
      [["gone"], 1, `run ${idOf(1)} has no desired field at gone: see all with "purlin runs blame TYPE/NAME"`],
      [["--run", idOf(3)], 2, `--run ${idOf(3)}: not a run of App/shop with a desired state`],
      [["--live"], 2, "--live needs a control plane: omit --recorder-dir"],
    ];
    for (const [words, code, message] of cases) {
      const { exitCode, stderr } = await purlin(["blame", "App/shop", ...words]);
      assert.deepEqual([exitCode, stderr], [code, `error: ${message}\n`]);
    }
    const gone = await purlin(["blame", "App/gone"]);
    assert.equal(gone.stderr, "error: no recorded run of App/gone has a desired state\n");
  });
});
