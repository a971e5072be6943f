// SPDX-License-Identifier: Apache-2.0
// Does what the page on recorded runs says, then more with the runs that it recorded.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { connectInspector, type Inspector, playPage } from "../test/play-guide.ts";
import { type Outcome, runInProcess, TestIo } from "../test/test-io.ts";
import { run } from "./run.ts";

const page = "docs/guide/debug-a-run.md";
const secret = "very-secret-token";
const secretForms = [secret, Buffer.from(secret).toString("base64")];

test("the page on recorded runs does what it says", async () => {
  await playPage(page, {
    async finally(cwd) {
      const purlin = (...argv: readonly string[]): Promise<Outcome> => runInProcess(argv, { cwd });
      await checkLists(purlin);
      await checkBlame(purlin);
      await checkExport(purlin, cwd);
      await checkDiff(purlin);
      await stopInDebugger(cwd);
      await checkReplay(purlin, cwd);
    },
  });
});

type Purlin = (...argv: readonly string[]) => Promise<Outcome>;

async function checkLists(purlin: Purlin): Promise<void> {
  const failed = await purlin("runs", "ls", "--failed");
  assert.match(failed.stdout, /^RUN +AGE +XR +REV +CAUSE +STEPS +WRITES +DURATION +OUTCOME$/m);
  assert.match(failed.stdout, /^[0-9A-Z]{26} .* App\/default\/blog +apps-\w+ .* failed/m);
  assert.doesNotMatch(failed.stdout, /shop/);
  const all = await purlin("runs", "ls", "app/shop", "-o", "json");
  const { items } = JSON.parse(all.stdout) as {
    readonly items: readonly { readonly id: string; readonly xr: { readonly name: string } }[];
  };
  assert.ok(items.length > 0 && items.every(({ xr }) => xr.name === "shop"));
  const traced = JSON.parse((await purlin("trace", "app", "shop", "-o", "json")).stdout) as {
    readonly purlin: { readonly lastRun?: string };
  };
  const ids = items.map(({ id }) => id);
  assert.ok(ids.includes(traced.purlin.lastRun ?? ""), `trace names the last run: ${traced.purlin.lastRun}`);
  for (const format of ["text", "json", "yaml"]) {
    const { stdout, exitCode } = await purlin("runs", "show", "app/shop", "-o", format);
    assert.equal(exitCode, 0);
    assert.match(stdout, /\*\*REDACTED:[0-9a-f]{8}\*\*/);
    for (const form of secretForms) assert.ok(!stdout.includes(form), `${format} has ${form}`);
  }
  const unknown = await purlin("runs", "show", "01ZZ");
  assert.deepEqual([unknown.exitCode, /run "01ZZ" not found/.test(unknown.stderr)], [1, true]);
  const noStep = await purlin("runs", "show", "app/shop", "--step", "none");
  assert.deepEqual([noStep.exitCode, /its steps are compose, scale/.test(noStep.stderr)], [2, true]);
}

async function checkBlame(purlin: Purlin): Promise<void> {
  const { stdout } = await purlin("runs", "blame", "app/shop", "settings", "data.replicas", "-o", "json");
  const { fields } = JSON.parse(stdout) as { readonly fields: readonly Record<string, unknown>[] };
  assert.equal(fields.length, 1);
  const { path, value, step, overwrote, since } = fields[0] ?? {};
  assert.deepEqual([path, value, step, overwrote], ["data.replicas", "3", "scale", [{ step: "compose", value: "1" }]]);
  assert.match(String(since), /^before [0-9A-Z]{26}$/);
  const live = await purlin("runs", "blame", "app/shop", "login", "--live");
  assert.match(live.stdout, /metadata\.ownerReferences\S* .*\(engine\)/);
  assert.match(live.stdout, /type +"Opaque" +\(API server default\)/);
  for (const form of secretForms) assert.ok(!live.stdout.includes(form));
  const nothing = await purlin("runs", "blame", "app/shop", "settings", "data.none");
  assert.deepEqual([nothing.exitCode, /no desired field at settings data\.none/.test(nothing.stderr)], [1, true]);
}

async function checkExport(purlin: Purlin, cwd: string): Promise<void> {
  const folder = join(cwd, "tests/shop");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  const name = files.find((file) => /^shop-\w+\.test\.yaml$/.test(file)) ?? "";
  assert.deepEqual(
    files.filter((file) => file.endsWith(".yaml") && file !== name),
    [
      "fixtures/composition.yaml",
      "fixtures/observed/login.yaml",
      "fixtures/observed/settings.yaml",
      "fixtures/redacted.yaml",
      "fixtures/xr.yaml",
      "fixtures/xrd.yaml",
      "functions.yaml",
    ],
  );
  const text = files.filter((file) => file.endsWith(".yaml")).map((file) => readFileSync(join(folder, file), "utf8"));
  for (const form of secretForms) assert.ok(!text.join("").includes(form), form);
  assert.match(readFileSync(join(folder, name), "utf8"), /kind: CompositionTest[\s\S]*token:\s+\$any: true/);
  // The fixtures are enough to run the pipeline again, with the same result.
  const inputs = ["tests/shop/fixtures/xr.yaml", "tests/shop/fixtures/composition.yaml", "tests/shop/functions.yaml"];
  const rendered = await purlin("render", ...inputs, "--observed-resources", "tests/shop/fixtures/observed");
  assert.equal(rendered.exitCode, 0, rendered.stderr);
  assert.match(rendered.stdout, /replicas: "3"/);
  // The case passes, and fails once a function composes something else.
  const passes = await purlin("test", "tests/shop");
  assert.equal(passes.exitCode, 0, passes.stdout + passes.stderr);
  const functions = readFileSync(join(folder, "functions.yaml"), "utf8");
  const [source = ""] = /\S+scale\.ts/.exec(functions) ?? [];
  writeFileSync(join(cwd, "platform/src/changed.ts"), readFileSync(source, "utf8").replace('"3"', '"4"'));
  writeFileSync(join(folder, "functions.yaml"), functions.replace(source, join(cwd, "platform/src/changed.ts")));
  const fails = await purlin("test", "tests/shop");
  assert.equal(fails.exitCode, 1, fails.stdout + fails.stderr);
  assert.match(
    fails.stdout,
    /desired\.resources\.settings\.data\.replicas: expected "3", got "4" \(set by step "scale"\)/,
  );
}

async function checkDiff(purlin: Purlin): Promise<void> {
  const { stdout } = await purlin("runs", "ls", "-o", "json");
  const { items } = JSON.parse(stdout) as {
    readonly items: readonly {
      readonly id: string;
      readonly xr: { readonly name: string };
      readonly steps: readonly string[];
    }[];
  };
  const idOf = (name: string): string => items.find(({ xr, steps }) => xr.name === name && steps.length > 1)?.id ?? "";
  const same = await purlin("runs", "diff", idOf("shop"), idOf("shop"));
  assert.deepEqual([same.exitCode, same.stdout.match(/no difference/g)?.length], [0, 2]);
  const other = await purlin("runs", "diff", idOf("shop"), idOf("blog"));
  assert.equal(other.exitCode, 3);
  assert.match(other.stdout, /Inputs[\s\S]*- spec\.size: "large"[\s\S]*Outputs[\s\S]*outcome/);
}

async function checkReplay(purlin: Purlin, cwd: string): Promise<void> {
  const file = join(cwd, "platform/src/scale.ts");
  const refused = await purlin(
    "runs",
    "replay",
    "app/blog",
    "--step",
    "scale",
    "--with",
    "localhost:1",
    "--timeout",
    "1s",
  );
  assert.equal(refused.exitCode, 1);
  assert.match(refused.stdout, /scale: the call failed: /);
  const restored = await purlin("runs", "replay", "app/shop", "--with-secrets");
  assert.deepEqual([restored.exitCode, restored.stdout.match(/equals the recorded one/g)?.length], [0, 2]);
  const changed = join(cwd, "platform/src/changed.ts");
  writeFileSync(changed, readFileSync(file, "utf8").replace('large: "3"', 'large: "5"'));
  const different = await purlin("runs", "replay", "app/shop", "--step", "scale", "--with", "platform/src/changed.ts");
  assert.equal(different.exitCode, 3);
  assert.match(different.stdout, /~ desired\.resources\.settings\.resource\.data\.replicas: "3" -> "5"/);
  const several = await purlin("runs", "replay", "app/shop", "--with", "platform/src/changed.ts");
  assert.deepEqual([several.exitCode, /specify one of compose, scale with --step/.test(several.stderr)], [2, true]);
}

/** The debugger stops in the function on the recorded request. */
async function stopInDebugger(cwd: string): Promise<void> {
  const stopping = new AbortController();
  const io = new TestIo({ cwd, env: process.env, signal: stopping.signal });
  const replay = run(
    ["runs", "replay", "app/blog", "--step", "scale", "--with", "platform/src/scale.ts", "--inspect-brk"],
    io,
  );
  const address = await printed(io, /Debugger listening on (ws:\S+)/);
  await using inspector = await connectInspector(address);
  await inspector.call("Debugger.enable");
  const line = readFileSync(join(cwd, "platform/src/scale.ts"), "utf8")
    .split("\n")
    .findIndex((text) => text.includes("replicas["));
  await inspector.call("Debugger.setBreakpointByUrl", { lineNumber: line, urlRegex: ".*/src/scale\\.ts$" });
  await inspector.call("Runtime.runIfWaitingForDebugger");
  assert.equal(await requestIn(inspector), "blog", "it stops when the request arrives");
  await inspector.call("Debugger.resume");
  const frame = await stopIn(inspector, "/src/scale.ts");
  assert.equal(await valueAt(inspector, frame, 'app.getString("spec.image")'), "shop:v1");
  await inspector.call("Debugger.disable");
  assert.equal(await replay, 0);
}

async function printed(io: TestIo, pattern: RegExp): Promise<string> {
  for (;;) {
    const found = pattern.exec(io.stderr.text)?.[1];
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function stopIn(inspector: Inspector, file: string): Promise<string> {
  for (;;) {
    const { frame, scriptId } = await paused(inspector);
    if (inspector.scripts.get(scriptId)?.endsWith(file)) return frame;
    await inspector.call("Debugger.resume");
  }
}

/** Continues until it stops with a request; resolves to the name of its composite resource. */
async function requestIn(inspector: Inspector): Promise<unknown> {
  for (;;) {
    const { frame } = await paused(inspector);
    const isRequest = await valueAt(inspector, frame, "typeof req === 'object'");
    if (isRequest) return valueAt(inspector, frame, "req.observed.composite.resource.value.metadata.name");
    await inspector.call("Debugger.resume");
  }
}

async function paused(inspector: Inspector): Promise<{ readonly frame: string; readonly scriptId: string }> {
  const { callFrames } = (await inspector.next("Debugger.paused")) as {
    readonly callFrames: readonly { readonly callFrameId: string; readonly location: { readonly scriptId: string } }[];
  };
  const [frame] = callFrames;
  return { frame: frame?.callFrameId ?? "", scriptId: frame?.location.scriptId ?? "" };
}

async function valueAt(inspector: Inspector, callFrameId: string, expression: string): Promise<unknown> {
  const { result } = await inspector.call("Debugger.evaluateOnCallFrame", { callFrameId, expression });
  return (result as { readonly value: unknown }).value;
}
