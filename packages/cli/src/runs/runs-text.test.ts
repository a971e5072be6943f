// SPDX-License-Identifier: Apache-2.0
// What `purlin runs show` and `purlin runs diff` print of runs in a folder.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { desired, type RecordedFolder, recordedFolder } from "../../test/recorded-runs.ts";
import { type Outcome, runInProcess, type TestIoOptions } from "../../test/test-io.ts";

let folder: RecordedFolder;

before(() => {
  folder = recordedFolder();
});
after(() => folder[Symbol.dispose]());

const idOf = (index: number): string => folder.ids[index] ?? assert.fail(`there is no run ${index}`);
const purlin = (words: readonly string[], options: TestIoOptions = {}): Promise<Outcome> =>
  runInProcess(["runs", ...words, "--recorder-dir", "runs"], { cwd: folder.path, ...options });
const lines = ({ stdout, exitCode, stderr }: Outcome): string[] => {
  assert.deepEqual([exitCode, stderr], [0, ""]);
  return stdout.trimEnd().split("\n");
};

describe("runs show", () => {
  test("prints the facts of a run, its conditions and writes, and each step with what it changed", async () => {
    const printed = lines(await purlin(["show", idOf(1)])).map((line) =>
      line.replace(/\d+ bytes (in|out)/g, "N bytes $1"),
    );
    assert.deepEqual(printed, [
      `${idOf(1)}  App shop in namespace dev`,
      "  outcome   composed",
      "  began     2090-01-02T03:05:05.000Z, took 20ms, cause: spec",
      "  revision  apps-1 of Composition apps",
      "  condition Ready=True Available fine",
      "  write     apply Box/shop-box (6 fields)",
      "",
      "step 1 compose: function-compose function-compose-abc",
      "  12ms, N bytes in, N bytes out",
      "  + box",
      '      + apiVersion: "acme.org/v1"',
      '      + kind: "Box"',
      "      + spec.n: 2",
      '      + spec.size: "s"',
      "",
      "step 2 ready: function-ready function-ready-abc",
      "  12ms, N bytes in, N bytes out",
      "  result warning: careful\\x1b[2J",
      "  ~ box",
      "      + (ready): true",
      "      - spec.n: 2",
      "  + extra",
      '      + apiVersion: "acme.org/v1"',
      '      + kind: "Box"',
      "      + spec.a: 1",
    ]);
  });

  test("prints the error of a run and of its step, a cached answer, and a step that changed nothing", async () => {
    const printed = lines(await purlin(["show", idOf(2)]));
    assert.ok(printed.includes("  error     cannot compose"));
    assert.ok(printed.includes("  error: deadline exceeded"));
    assert.ok(printed.includes("step 1 compose: function-compose (development)"));
    assert.match(printed.join("\n"), /bytes out, from the cache \(origin not recorded\)\n {2}desired: no change\n/);
  });

  test("of a run without a revision prints dashes", async () => {
    const printed = lines(await purlin(["show", idOf(3)]));
    assert.deepEqual(printed.slice(3), ["  revision  - of Composition -", "  error     none"]);
  });

  test("highlights headings and errors on a terminal, and nothing that a run states", async () => {
    const { stdout } = await purlin(["show", idOf(2)], { isTTY: true });
    const bold = (text: string): string => `\u001b[1m${text}\u001b[22m`;
    assert.ok(stdout.startsWith(`${bold(idOf(2))}  App shop`), JSON.stringify(stdout.slice(0, 80)));
    assert.ok(stdout.includes(bold("step 2 ready: function-ready function-ready-abc")));
    assert.ok(stdout.includes("  \u001b[31merror\u001b[39m: deadline exceeded\n"));
    const warned = await purlin(["show", idOf(1)], { isTTY: true });
    assert.ok(warned.stdout.includes("careful\\x1b[2J"));
  });

  test("shows one step by name or position", async () => {
    for (const wanted of ["ready", "1"]) {
      const printed = lines(await purlin(["show", idOf(1), "--step", wanted]));
      assert.equal(
        printed.filter((line) => line.startsWith("step ")).join(),
        "step 2 ready: function-ready function-ready-abc",
      );
    }
    const { exitCode, stderr } = await purlin(["show", idOf(1), "--step", "gone"]);
    assert.deepEqual(
      [exitCode, stderr],
      [2, `error: --step gone: run ${idOf(1)} has no such step: its steps are compose, ready\n`],
    );
  });

  test("prints messages of a step, and null for a response that is missing", async () => {
    const request = lines(await purlin(["show", idOf(0), "--request", "-o", "json"])).join("\n");
    assert.deepEqual((JSON.parse(request) as { input: object }).input, { mode: "a" });
    const response = lines(await purlin(["show", idOf(2), "--step", "ready", "--response", "-o", "json"]));
    assert.deepEqual(response, ["null"]);
    const wanted = lines(await purlin(["show", idOf(0), "--desired"]));
    assert.deepEqual(wanted, [
      "box:",
      "  apiVersion: acme.org/v1",
      "  kind: Box",
      "  spec:",
      "    size: s",
      '    "n": 1',
    ]);
    const both = lines(await purlin(["show", idOf(1), "--desired", "-o", "json"])).join("\n");
    assert.deepEqual(
      (JSON.parse(both) as object[]).map((one) => Object.keys(one)),
      [["box"], ["box", "extra"]],
    );
    const separate = lines(await purlin(["show", idOf(1), "--desired"]));
    assert.equal(separate.filter((line) => line === "---").length, 1);
    const two = await purlin(["show", idOf(0), "--request", "--desired"]);
    assert.deepEqual([two.exitCode, two.stderr], [2, "error: --request and --desired: specify one of them\n"]);
  });

  test("prints the whole run as JSON, with its messages", async () => {
    const text = lines(await purlin(["show", idOf(0), "-o", "json"])).join("\n");
    const run = JSON.parse(text) as {
      id: string;
      steps: { name: string; calls: { request: object; response?: object }[] }[];
    };
    assert.deepEqual([run.id, run.steps[0]?.name], [idOf(0), "compose"]);
    assert.deepEqual(run.steps[0]?.calls[0]?.response, desired({ size: "s", n: 1 }));
  });

  test("finds the newest run of a resource that reached its pipeline, and says when there is none", async () => {
    assert.equal(lines(await purlin(["show", "app/shop"]))[0], `${idOf(2)}  App shop in namespace dev`);
    const gone = await purlin(["show", "App/gone"]);
    assert.deepEqual([gone.exitCode, gone.stderr], [1, "error: no recorded run of App/gone reached its pipeline\n"]);
    const unknown = await purlin(["show", "ZZ"]);
    assert.equal(
      unknown.stderr,
      'error: run "ZZ" not found: list runs with "purlin runs ls"; a prefix must be unique\n',
    );
  });
});

describe("runs diff", () => {
  test("prints inputs that differ, then outputs, and exits with 3", async () => {
    const { exitCode, stdout } = await purlin(["diff", idOf(0), idOf(1)]);
    assert.equal(exitCode, 3);
    assert.deepEqual(stdout.trimEnd().split("\n"), [
      "Inputs",
      "  step compose: input",
      '    ~ mode: "a" -> "b"',
      "  step ready: function revision",
      '    + "function-ready function-ready-abc"',
      "  step ready: input",
      "    + null",
      "Outputs",
      "  conditions",
      "    - []",
      '    + [type=Ready].message: "fine"',
      '    + [type=Ready].reason: "Available"',
      '    + [type=Ready].status: "True"',
      '    + [type=Ready].type: "Ready"',
      "  desired resource box",
      "    + (ready): true",
      "    - spec.n: 1",
      "  desired resource extra",
      '    + apiVersion: "acme.org/v1"',
      '    + kind: "Box"',
      "    + spec.a: 1",
      "  step ready: results",
      '    + [0].message: "careful\\u001b[2J"',
      '    + [0].severity: "SEVERITY_WARNING"',
    ]);
  });

  test("of equal runs prints no difference and exits with 0", async () => {
    assert.deepEqual(lines(await purlin(["diff", idOf(1), idOf(1)])), [
      ...["Inputs", "  no difference", "Outputs", "  no difference"],
    ]);
  });

  test("prints a document with -o json", async () => {
    const { exitCode, stdout } = await purlin(["diff", idOf(2), idOf(3), "-o", "json"]);
    const found = JSON.parse(stdout) as { before: string; after: string; outputs: { what: string }[] };
    assert.deepEqual([exitCode, found.before, found.after], [3, idOf(2), idOf(3)]);
    assert.deepEqual(
      found.outputs.map(({ what }) => what),
      ["error"],
    );
  });
});
