// SPDX-License-Identifier: Apache-2.0
// Packages that cannot work, in a whole control plane: a condition, an event and a line of the command report why, and the revision
// that ran before continues to serve.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { silentLog } from "@purlin/base";
import type { TempFolder } from "@purlin/base/testing/temp-folder";
import type { KubeObject } from "@purlin/kube-objects/object";
import {
  buildImage,
  bundleCommand,
  bundlePath,
  createRegistryClient,
  fileEntry,
  openContentStore,
  type PackageImageParts,
  parseReference,
  pushPackage,
  runtimeLabel,
} from "@purlin/oci";
import { functionPackage, packageMeta } from "../../test/function-folder.ts";
import { type Outcome, runInProcess, TestIo } from "../../test/test-io.ts";
import { run } from "../run.ts";
import { type EmbeddedPlane, startEmbeddedPlane } from "../up/embedded-plane.ts";

const patienceMs = 60_000;
const revisionType = { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" };
const noProcess = { entrypoint: [], cmd: [], env: [], workingDir: "/", user: "" };
const onNode = {
  process: { ...noProcess, entrypoint: bundleCommand },
  labels: { [runtimeLabel]: "node" },
};
const xrd = (name: string): string => `---
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: ${name}s.example.org}
spec:
  group: example.org
  names: {kind: ${name.toUpperCase()}, plural: ${name}s}
  scope: Cluster
  versions: [{name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object}}}]
`;

async function until<T>(what: string, look: () => T | undefined | false | Promise<T | undefined | false>): Promise<T> {
  const limit = performance.now() + patienceMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > limit) assert.fail(`never came: ${what}`);
    await setTimeout(50);
  }
}

suite("packages that cannot work", () => {
  let folder: TempFolder;
  let plane: EmbeddedPlane;
  let registry: string;
  const purlin = (...args: string[]): Promise<Outcome> => runInProcess(args, { cwd: folder.path });

  before(async () => {
    folder = functionPackage();
    const directory = join(folder.path, ".purlin");
    const options = {
      paths: [],
      directory,
      port: 0,
      registryPort: 0,
      waitMs: undefined,
      debug: false,
      functionRevisionSelectors: true,
    };
    const io = new TestIo({ cwd: folder.path, env: { PATH: process.env["PATH"] } });
    plane = await startEmbeddedPlane(options, {
      io,
      log: silentLog,
      warn: () => {},
      onFunctionChange: () => {},
    });
    registry = plane.registry.address;
    await purlin("xpkg", "build", "-o", "good.xpkg");
    await purlin("xpkg", "push", "-f", "good.xpkg", `${registry}/acme/good:v1`);
    const { exitCode, stderr } = await purlin(
      "xpkg",
      "install",
      "function",
      `${registry}/acme/good:v1`,
      "good",
      "--wait",
    );
    assert.equal(exitCode, 0, stderr);
  });
  after(async () => {
    await plane[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  async function push(name: string, parts: Partial<PackageImageParts>): Promise<string> {
    const store = await openContentStore(join(folder.path, "build"));
    const platform = { os: "linux", architecture: process.arch === "arm64" ? "arm64" : "amd64" };
    const packageYaml = packageMeta("function-bad");
    const image = await buildImage(store, {
      platform,
      process: noProcess,
      base: [],
      layers: [],
      packageYaml,
      ...parts,
    });
    const reference = `${registry}/acme/${name}:v1`;
    const { credentials } = plane.registry.access;
    await pushPackage(createRegistryClient({ credentials }), store, { images: [image], to: parseReference(reference) });
    return reference;
  }

  /** The output of `install --wait` up to the expected line. */
  async function installOutput(args: string[], says: RegExp): Promise<string> {
    const stopping = new AbortController();
    const io = new TestIo({ cwd: folder.path, signal: stopping.signal });
    const ended = run(["xpkg", "install", ...args, "--wait"], io);
    try {
      return await until(`${says} in ${io.stderr.text}`, () =>
        io.stderr.text.split("\n").find((line) => says.test(line)),
      );
    } finally {
      stopping.abort();
      await ended;
    }
  }

  /** The warnings about an object and its revisions. */
  async function warnings(name: string): Promise<string[]> {
    const { items } = await plane.client.list({ apiVersion: "v1", kind: "Event" });
    return (
      items as (KubeObject & { type?: string; message?: string; reason?: string; involvedObject?: { name?: string } })[]
    )
      .filter(({ type, involvedObject }) => type === "Warning" && involvedObject?.name?.startsWith(name))
      .map(({ reason, message }) => `${reason}: ${message}`);
  }

  interface Row {
    readonly why: string;
    readonly kind?: "function" | "configuration";
    /** Puts it into a repository: two packages of one source are another problem. */
    readonly reference: (repository: string) => Promise<string> | string;
    /** What the command prints while it waits. */
    readonly reports: RegExp;
    readonly warned: RegExp;
  }

  const rows: Record<string, Row> = {
    unreachable: {
      why: "an unreachable registry",
      reference: () => "127.0.0.1:1/acme/f:v1",
      reports:
        /^waiting: not Installed: UnpackingPackage: cannot unpack package: cannot reach 127\.0\.0\.1:1: connect ECONNREFUSED/,
      warned: /^UnpackPackage: cannot unpack package: cannot reach 127\.0\.0\.1:1/,
    },
    digest: {
      why: "a digest that is not there",
      reference: () => `${registry}/acme/good@sha256:${"0".repeat(64)}`,
      reports:
        /^waiting: not Installed: UnpackingPackage: cannot unpack package: cannot read .*sha256:0+: .* answers 404 \(MANIFEST_UNKNOWN/,
      warned: /^UnpackPackage: .*answers 404/,
    },
    nopackage: {
      why: "an image that is not a package",
      reference: (repository) => push(repository, { packageYaml: "" }),
      reports:
        /cannot unpack package: .*package\.yaml: expected exactly one object of meta\.pkg\.crossplane\.io .*, found 0$/,
      warned: /^UnpackPackage: .*found 0/,
    },
    kind: {
      why: "a package of another kind",
      reference: (repository) => push(repository, { packageYaml: packageMeta("p", "Provider") }),
      reports:
        /^waiting: not Healthy: .*validating package contents failed: the package is a Provider, not a Function; install it as a Provider$/,
      warned: /^ValidatePackage: validating package contents failed/,
    },
    platform: {
      why: "an image for another machine",
      reference: (repository) =>
        push(repository, {
          platform: { os: "linux", architecture: "mips" },
          process: { ...noProcess, entrypoint: ["/function"] },
          layers: [[fileEntry("function", "x", 0o755)]],
        }),
      reports:
        /^waiting: not Healthy: .*\/platform:v1.* is for linux\/mips, and this machine is linux\/\w+; push one for that platform$/,
      warned: /^SyncPackage: .* is for linux\/mips/,
    },
    missing: {
      why: "an entry point that is not there",
      reference: (repository) =>
        push(repository, {
          process: { ...noProcess, entrypoint: ["/no/such/program"] },
          layers: [[fileEntry("etc/x", "x")]],
        }),
      reports: /^waiting: not Healthy: .*\/no\/such\/program/,
      warned: /no\/such\/program/,
    },
    exits: {
      why: "a function that exits at once: its last output is reported",
      reference: (repository) => {
        const program = 'console.error("the licence is missing"); process.exit(3);\n';
        return push(repository, { ...onNode, layers: [[fileEntry(bundlePath, program)]] });
      },
      reports: /^waiting: not Healthy: .*the licence is missing.*; see: purlin logs exits --revision exits-/,
      warned: /the licence is missing/,
    },
    dependency: {
      why: "a dependency with no matching version: every constraint is named",
      kind: "configuration",
      reference: (repository) => {
        const spec = `spec: {dependsOn: [{function: ${registry}/acme/good, version: ">=v2.0.0"}, {function: ${registry}/acme/none, version: "^1"}]}\n`;
        return push(repository, { packageYaml: `${packageMeta("dependency", "Configuration")}${spec}` });
      },
      reports:
        /^waiting: not Healthy: .*missing dependencies: ".*\/acme\/none" \(\^1\): cannot list the versions of .*\/acme\/none: .*answers 404/,
      warned: /^ResolveDependencies: cannot resolve package dependencies: missing dependencies/,
    },
  };

  for (const [name, { why, kind = "function", reference, reports, warned }] of Object.entries(rows)) {
    test(`the command, a condition and an event report ${why}`, async () => {
      const line = await installOutput([kind, await reference(name), name], reports);
      assert.match(line, reports);
      await until(`${warned} of ${name}`, async () => (await warnings(name)).some((text) => warned.test(text)));
    });
  }

  const serving = async (): Promise<string[]> => {
    const { items } = await plane.client.list(revisionType, { labelSelector: "pkg.crossplane.io/package=good" });
    return (
      items as (KubeObject & { spec: { desiredState: string; revision: number }; status?: { endpoint?: string } })[]
    )
      .filter(({ spec, status }) => spec.desiredState === "Active" && status?.endpoint !== undefined)
      .map(({ spec }) => String(spec.revision));
  };

  test("whatever a package that works is pointed to, what it runs continues to serve; a good one takes over", async () => {
    assert.deepEqual(await serving(), ["1"]);
    for (const [name, { why, kind = "function", reports, reference }] of Object.entries(rows)) {
      if (kind !== "function") continue;
      const spec = JSON.stringify({ spec: { package: await reference(`again/${name}`) } });
      const { exitCode, stderr } = await purlin("patch", "function", "good", spec);
      assert.equal(exitCode, 0, stderr);
      const text = reports.source
        .replace(/^\^waiting: /, "")
        .replace("exits --revision exits-", "good --revision good-");
      const pattern = new RegExp(text.replace(/\$$/, "").replace(/^not \w+: (?:\w+: )?/, ""));
      await until(`${pattern} on ${name}`, async () => {
        const object = await plane.client.get(
          { apiVersion: "pkg.crossplane.io/v1", kind: "Function" },
          { name: "good" },
        );
        const { conditions = [] } = (object["status"] ?? {}) as { conditions?: { message?: string }[] };
        return conditions.some(({ message = "" }) => pattern.test(message));
      });
      assert.deepEqual(await serving(), ["1"], why);
    }
    folder.write(
      "src/function.ts",
      `import { response } from "@purlin/function-sdk";\nexport default (req: never) => response.to(req, { ttl: 7 });\n`,
    );
    await purlin("xpkg", "build", "-o", "better.xpkg");
    await purlin("xpkg", "push", "-f", "better.xpkg", `${registry}/acme/good:v2`);
    await purlin("patch", "function", "good", JSON.stringify({ spec: { package: `${registry}/acme/good:v2` } }));
    await until("the good one alone serves", async () => {
      const now = await serving();
      return now.length === 1 && now[0] !== "1";
    });
  });

  test("two packages that contain one definition: the second reports the owner", async () => {
    const meta = (name: string): string => packageMeta(name, "Configuration");
    const one = await push("claims-one", { packageYaml: `${meta("one")}${xrd("claimed")}` });
    const two = await push("claims-two", { packageYaml: `${meta("two")}${xrd("other")}${xrd("claimed")}` });
    const first = await purlin("xpkg", "install", "configuration", one, "claims-one", "--wait");
    assert.equal(first.exitCode, 0, first.stderr);
    const reports =
      /cannot establish control of object: claimeds\.example\.org is already controlled by ConfigurationRevision claims-one-\w+ \(UID /;
    assert.match(await installOutput(["configuration", two, "claims-two"], reports), reports);
    const names = (
      await plane.client.list({ apiVersion: "apiextensions.crossplane.io/v2", kind: "CompositeResourceDefinition" })
    ).items;
    assert.deepEqual(
      names.map(({ metadata }) => metadata.name),
      ["claimeds.example.org"],
      "nothing of the second was made",
    );
    await until("a warning", async () =>
      (await warnings("claims-two")).some((text) => text.startsWith("SyncPackage: ")),
    );
  });

  test("a dependency that no version satisfies: every constraint and its package are reported", async () => {
    // Whatever is missing first is looked for first.
    assert.equal((await purlin("delete", "configuration", "dependency")).exitCode, 0);
    const lacking = (await push("lacking", {})).replace(/:v1$/, "");
    const wanting = (name: string, constraint: string): Promise<string> => {
      const spec = `spec: {dependsOn: [{function: ${lacking}, version: "${constraint}"}]}\n`;
      return push(name, { packageYaml: `${packageMeta(name, "Configuration")}${spec}` });
    };
    const alone =
      /no version of \S+\/acme\/lacking satisfies >=v2\.0\.0 \(required by \S+\/acme\/wants-two\); available: v1$/;
    await installOutput(["configuration", await wanting("wants-two", ">=v2.0.0"), "wants-two"], alone);
    const both =
      /missing dependencies: "\S+\/acme\/lacking" \(\^3\): no version of \S+ satisfies >=v2\.0\.0 \(required by \S+wants-two\) and \^3 \(required by \S+wants-three\); available: v1$/;
    await installOutput(["configuration", await wanting("wants-three", "^3"), "wants-three"], both);
    const resolution = /^DependencyResolutionFailed: .* and \^3 \(required by /;
    await until("a warning on the Lock", async () => (await warnings("lock")).some((text) => resolution.test(text)));
  });

  const functionYaml = (spec: string): string =>
    `apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: refused}\nspec: ${spec}\n`;
  const compositionYaml = (step: string): string => `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: refused}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: X}
  mode: Pipeline
  pipeline: [{step: one, ${step}}]
`;
  const image = "registry.example.org/acme/f:v1";
  const pinned = `registry.example.org/acme/f@sha256:${"0".repeat(64)}`;
  const refused: Record<string, { readonly yaml: string; readonly says: RegExp }> = {
    "case 62: a limit above the history": {
      yaml: functionYaml(`{package: "${image}", activeRevisionLimit: 3, revisionHistoryLimit: 2}`),
      says: /spec: Invalid value: .*activeRevisionLimit must not be greater than revisionHistoryLimit/,
    },
    "case 62: a limit of 0": {
      yaml: functionYaml(`{package: "${image}", activeRevisionLimit: 0}`),
      says: /spec\.activeRevisionLimit: Invalid value: 0: .*should be greater than or equal to 1/,
    },
    "case 62: several revisions of a Provider": {
      yaml: functionYaml(`{package: "${image}", activeRevisionLimit: 2}`).replace("kind: Function", "kind: Provider"),
      says: /spec\.activeRevisionLimit: Invalid value: 2: .*should be less than or equal to 1/,
    },
    "case 1: a registry without a dot": {
      yaml: functionYaml(`{package: "localhost:5000/x:v1"}`),
      says: /spec\.package: Invalid value: .*must be a fully qualified image name, including the registry, repository, and tag or digest/,
    },
    "case 66: a revision by name and by labels": {
      yaml: compositionYaml(
        "functionRef: {name: f}, functionRevisionRef: {name: r}, functionRevisionSelector: {matchLabels: {a: b}}",
      ),
      says: /spec\.pipeline\[0\]: Invalid value: .*functionRevisionRef and functionRevisionSelector are mutually exclusive/,
    },
    "case 85: a function by name and by image": {
      yaml: compositionYaml(`functionRef: {name: f}, function: "${pinned}"`),
      says: /spec\.pipeline\[0\]: Invalid value: .*exactly one of functionRef and function is required/,
    },
    "case 85: an image and a revision": {
      yaml: compositionYaml(`function: "${pinned}", functionRevisionRef: {name: r}`),
      says: /function cannot be combined with functionRevisionRef or functionRevisionSelector/,
    },
    "case 85: no function at all": {
      yaml: compositionYaml("input: {apiVersion: v1, kind: X}"),
      says: /spec\.pipeline\[0\]: Invalid value: .*exactly one of functionRef and function is required/,
    },
  };
  for (const [name, { yaml, says }] of Object.entries(refused)) {
    test(`purlin apply refuses ${name}`, async () => {
      folder.write("refused.yaml", yaml);
      const { exitCode, stdout, stderr } = await purlin("apply", "refused.yaml");
      assert.match(stderr, says);
      assert.match(stderr, /^error: .*refused/);
      assert.deepEqual([exitCode, stdout], [1, ""]);
    });
  }
});
