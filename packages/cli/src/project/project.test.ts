// SPDX-License-Identifier: Apache-2.0
// Which control plane a command means: flags, variables, purlin.yaml and folders, on real servers.
import assert from "node:assert/strict";
import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { runInProcess, TestIo } from "../../test/test-io.ts";
import { type EmbeddedServer, startEmbeddedServer } from "../apiserver/embedded-server.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { readUpOptions } from "../up/up-options.ts";
import { findUp, readProjectFile } from "./project-file.ts";

const names = ["flag", "variable", "data", "file", "parent"] as const;
let folder: TempFolder;
const servers = new Map<string, EmbeddedServer>();
const kubeconfig = (name: string): string => servers.get(name)?.kubeconfig ?? "";
const dataDir = (name: string): string => join(kubeconfig(name), "..");

before(async () => {
  folder = tempFolder({ "project/a/b/.keep": "" });
  for (const name of names) {
    const directory = join(folder.path, name);
    servers.set(name, await startEmbeddedServer({ directory, port: 0, warn: () => {} }));
    const object = `apiVersion: v1\nkind: Namespace\nmetadata: {name: at-${name}}\n`;
    await runInProcess(["apply", "-", "--data-dir", directory], { cwd: folder.path, stdin: object });
  }
});
after(async () => {
  for (const server of servers.values()) await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** The control plane that answers, by the namespace that only it has. */
async function answering(args: readonly string[], env: Record<string, string>): Promise<string> {
  const cwd = join(folder.path, "project/a/b");
  const { stdout, stderr } = await runInProcess(["get", "ns", "-o", "name", ...args], { cwd, env });
  return /namespace\/at-(\w+)/.exec(stdout)?.[1] ?? stderr;
}

test("flags come before $KUBECONFIG, then $PURLIN_DATA_DIR, purlin.yaml and a .purlin in a parent", async () => {
  const nothing = await answering([], {});
  assert.match(
    nothing,
    /^error: no control plane found: \.purlin\/kubeconfig does not exist: start a control plane with "purlin up", or specify/,
  );
  mkdirSync(join(folder.path, "project/.purlin"));
  cpSync(kubeconfig("parent"), join(folder.path, "project/.purlin/kubeconfig"));
  assert.equal(await answering([], {}), "parent");
  folder.write("project/a/purlin.yaml", "dataDir: ../../file\n");
  assert.equal(await answering([], {}), "file");
  assert.equal(await answering([], { PURLIN_DATA_DIR: dataDir("data") }), "data");
  const env = { PURLIN_DATA_DIR: dataDir("data"), KUBECONFIG: kubeconfig("variable") };
  assert.equal(await answering([], env), "variable");
  assert.equal(await answering(["--kubeconfig", kubeconfig("flag")], env), "flag");
  assert.equal(await answering(["--data-dir", dataDir("flag")], env), "flag");
});

test("$KUBECONFIG may list files: the first one wins, missing ones are skipped", async () => {
  const env = { KUBECONFIG: `${folder.path}/missing:${kubeconfig("variable")}:${kubeconfig("flag")}` };
  assert.equal(await answering([], env), "variable");
  assert.match(
    await answering([], { KUBECONFIG: "missing" }),
    /^error: cannot read \$KUBECONFIG \S+missing: no such file/,
  );
});

test("purlin.yaml sets ports, features and the namespace of purlin up and of commands; flags come first", async () => {
  const cwd = join(folder.path, "project/a");
  folder.write(
    "project/a/purlin.yaml",
    "dataDir: ../../file\nports: {api: 6443, registry: 5601}\nfeatures: {functionRevisionSelectors: true}\nnamespace: at-file\n",
  );
  const optionsOf = (options: CommandInput["options"], env: Record<string, string> = {}) => {
    const read = readUpOptions({ args: [], options }, new TestIo({ cwd, env }));
    return [read.directory, read.port, read.registryPort, read.functionRevisionSelectors];
  };
  assert.deepEqual(optionsOf({}), [dataDir("file"), 6443, 5601, true]);
  assert.deepEqual(optionsOf({ dataDir: "x", port: "1234" }), [join(cwd, "x"), 1234, 5601, true]);
  assert.deepEqual(optionsOf({}, { PURLIN_DATA_DIR: "y" })[0], join(cwd, "y"));
  const map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";
  await runInProcess(["apply", "-f", "-"], { cwd, stdin: map });
  assert.equal(
    (await runInProcess(["get", "cm", "c", "-o", "jsonpath={.metadata.namespace}"], { cwd })).stdout,
    "at-file",
  );
  const elsewhere = await runInProcess(["get", "cm", "c", "-n", "default"], { cwd });
  assert.match(elsewhere.stderr, /"c" not found/);
});

test("purlin.yaml and flags set the limits of functions and whether they need a sandbox; flags come first", () => {
  using own = tempFolder({
    "purlin.yaml":
      "functions: {requireSandbox: true, memoryLimit: 1Gi, cpuLimit: 1500m, processLimit: 512, tmpLimit: 128Mi}\n",
  });
  const read = (options: CommandInput["options"], cwd = own.path) => {
    const { requireSandbox, functionLimits } = readUpOptions({ args: [], options }, new TestIo({ cwd }));
    return { requireSandbox, functionLimits };
  };
  const limits = { memoryBytes: 1024 ** 3, cpus: 1.5, processes: 512, tmpBytes: 128 * 1024 ** 2 };
  assert.deepEqual(read({}), { requireSandbox: true, functionLimits: limits });
  const options = { functionMemoryLimit: "300Mi", functionOpenFileLimit: "1k", functionLogLimit: "64Ki" };
  const changed = { ...limits, memoryBytes: 300 * 1024 ** 2, openFiles: 1000, logBytesPerSecond: 65_536 };
  assert.deepEqual(read(options).functionLimits, changed);
  using empty = tempFolder({ "purlin.yaml": "" });
  assert.deepEqual(read({ requireSandbox: true }, empty.path), { requireSandbox: true, functionLimits: {} });
  assert.deepEqual(read({}, empty.path), { requireSandbox: false, functionLimits: {} });
});

const wrongLimits: Record<string, readonly [option: string, message: string]> = {
  much: [
    "functionMemoryLimit",
    '--function-memory-limit: must be a whole quantity of at least 16Mi, such as 512Mi, not "much"',
  ],
  "1Mi": [
    "functionMemoryLimit",
    '--function-memory-limit: must be a whole quantity of at least 16Mi, such as 512Mi, not "1Mi"',
  ],
  "0": ["functionCpuLimit", '--function-cpu-limit: must be a quantity of at least 0.01, such as 1500m, not "0"'],
  "1.5": [
    "functionOpenFileLimit",
    '--function-open-file-limit: must be a whole quantity of at least 64, such as 1024, not "1.5"',
  ],
  "-1": [
    "functionProcessLimit",
    '--function-process-limit: must be a whole quantity of at least 32, such as 256, not "-1"',
  ],
};
for (const [value, [option, message]] of Object.entries(wrongLimits)) {
  test(`a limit of functions that is not one is refused: ${option} ${value}`, () => {
    const io = new TestIo({ cwd: folder.path });
    assert.throws(() => readUpOptions({ args: [], options: { [option]: value } }, io), { message, exitCode: 2 });
  });
}

test("purlin up starts in this folder although a parent has a .purlin", () => {
  using own = tempFolder({ ".purlin/kubeconfig": "", "sub/x.yaml": "" });
  const io = new TestIo({ cwd: join(own.path, "sub") });
  assert.equal(readUpOptions({ args: [], options: {} }, io).directory, join(own.path, "sub/.purlin"));
});

test("purlin up applies the paths of purlin.yaml where its command line names none", () => {
  using own = tempFolder({ "purlin.yaml": "paths: [., platform, ../shared]\n", "sub/x.yaml": "" });
  const pathsIn = (cwd: string, ...args: string[]): readonly string[] =>
    readUpOptions({ args, options: {} }, new TestIo({ cwd })).paths;
  assert.deepEqual(pathsIn(own.path), [".", "platform", "../shared"]);
  assert.deepEqual(pathsIn(join(own.path, "sub")), ["..", "../platform", "../../shared"]);
  assert.deepEqual(pathsIn(own.path, "sub"), ["sub"]);
  using none = tempFolder();
  assert.deepEqual(pathsIn(none.path), []);
});

const wrong: Record<string, readonly [string, RegExp]> = {
  Unknown: [
    "dataDir: x\nport: 1\n",
    /^purlin\.yaml:2:1: port: unknown field; expected dataDir, paths, ports, features, functions, namespace$/,
  ],
  UnknownPort: ["ports:\n  web: 1\n", /^purlin\.yaml:2:3: ports\.web: unknown field; expected api, registry$/],
  UnknownFeature: [
    "features: {x: true}\n",
    /^purlin\.yaml:1:12: features\.x: unknown field; expected functionRevisionS/,
  ],
  Port: ["ports:\n  api: 70000\n", /^purlin\.yaml:2:3: ports\.api: must be a port between 1 and 65535$/],
  Paths: ["paths: platform\n", /^purlin\.yaml:1:1: paths: must be a list of files and folders$/],
  EmptyPath: ["paths: ['']\n", /^purlin\.yaml:1:1: paths: must be a list of files and folders$/],
  Text: ["namespace: 3\n", /^purlin\.yaml:1:1: namespace: must be a non-empty string$/],
  Switch: [
    "features:\n  functionRevisionSelectors: 'yes'\n",
    /^purlin\.yaml:2:3: features\.functionRev\w+: must be true or false$/,
  ],
  Sandbox: [
    "functions: {requireSandbox: 1}\n",
    /^purlin\.yaml:1:13: functions\.requireSandbox: must be true or false$/,
  ],
  UnknownLimit: [
    "functions:\n  swapLimit: 1\n",
    /^purlin\.yaml:2:3: functions\.swapLimit: unknown field; expected requireSandbox, memoryLimit, /,
  ],
  Limit: [
    "functions:\n  memoryLimit: much\n",
    /^purlin\.yaml:2:3: functions\.memoryLimit: must be a whole quantity of at least 16Mi, such as 512Mi$/,
  ],
  Object: ["ports: 3\n", /^purlin\.yaml:1:1: ports: must be an object$/],
  List: ["- x\n", /^purlin\.yaml:1:1: must be an object$/],
  Two: ["dataDir: x\n---\ndataDir: y\n", /^purlin\.yaml:3:1: expected one document$/],
  Broken: ["a: [\n", /^purlin\.yaml:2:1: invalid YAML/],
};
for (const [name, [text, message]] of Object.entries(wrong)) {
  test(`a mistake in purlin.yaml is reported with its line: ${name}`, () => {
    using own = tempFolder({ "purlin.yaml": text });
    assert.throws(() => readProjectFile({ cwd: own.path }), { message });
  });
}

test("an empty purlin.yaml sets nothing, and it is not a manifest of its folder", async () => {
  using own = tempFolder({
    "purlin.yaml": "# nothing\n",
    "x.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n",
  });
  assert.deepEqual(readProjectFile({ cwd: own.path }), { ports: {}, features: {}, functions: {} });
  const { stdout } = await runInProcess(["apply", ".", "--data-dir", dataDir("data")], { cwd: own.path });
  assert.equal(stdout, "Namespace x created\n");
});

test("what another user put into a parent is not found", () => {
  using own = tempFolder({ "purlin.yaml": "", "sub/x": "" });
  const uid = process.getuid?.() ?? 0;
  const sub = join(own.path, "sub");
  assert.equal(findUp("purlin.yaml", sub), join(own.path, "purlin.yaml"));
  assert.equal(findUp("purlin.yaml", sub, uid + 1), undefined);
  assert.equal(
    findUp("purlin.yaml", own.path, uid + 1),
    join(own.path, "purlin.yaml"),
    "the folder itself is the user's",
  );
});
