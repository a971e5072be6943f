// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { eventually } from "@purlin/kube-controller/testing";
import { startRegistry } from "@purlin/oci";
import { functionPackage } from "../../test/function-folder.ts";
import { type Outcome, runInProcess, TestIo } from "../../test/test-io.ts";
import type { Io } from "../io.ts";
import { run as runCommand } from "../run.ts";
import { operators } from "./match.ts";
import { testFields, testKinds } from "./test-schema.ts";

/** Composes as the spec says. */
const source = `import { request, resource, response } from "@purlin/function-sdk";
export default async (req, ctx) => {
  const rsp = ctx.to(req);
  const xr = request.getObservedCompositeResource(req).resource;
  const observed = request.getObservedComposedResources(req);
  const spec = xr.object.spec ?? {};
  if (spec.hang) await new Promise(() => {});
  if (spec.block) for (;;) {}
  if (spec.tier) response.setDesiredCompositeStatus(rsp, { tier: req.context?.value?.env?.tier ?? "none" });
  if (spec.schemas) {
    const has = (req.meta?.capabilities.length ?? 0) > 0;
    if (!has) response.warning(rsp, "no schemas: Crossplane is too old");
  }
  if (spec.port === 0) { response.fatal(rsp, "port must not be 0"); return rsp; }
  if (spec.image?.startsWith("nowhere/")) {
    response.warning(rsp, "image " + spec.image + " not found").targetCompositeAndClaim();
  }
  if (spec.regions) {
    response.requireResources(rsp, "regions", { apiVersion: "v1", kind: "ConfigMap", namespace: "default", matchName: "regions" });
    const found = request.lookupRequiredResources(req, "regions");
    const region = found.items?.[0]?.resource.object.data?.eu;
    if (region === undefined) return rsp;
    response.setDesiredComposedResource(rsp, "bucket", { apiVersion: "s3.example.org/v1", kind: "Bucket", spec: { region } });
    return rsp;
  }
  if (spec.nested) {
    response.setDesiredComposedResource(rsp, "child", { apiVersion: "acme.org/v1", kind: "App", spec: { size: "l" } }, { ready: resource.isReady(observed.get("child")?.resource) });
    return rsp;
  }
  const db = observed.get("db")?.resource;
  const address = db?.object.status?.address;
  if (spec.db) response.setDesiredComposedResource(rsp, "db", { apiVersion: "db.example.org/v1", kind: "Db", spec: {} }, { ready: resource.isReady(db) });
  if (!spec.db || address !== undefined) {
    const replicas = { s: 1, l: 3 }[spec.size ?? "s"];
    const data = { replicas: String(replicas), ...(address && { host: address }) };
    response.setDesiredComposedResource(rsp, "web", { apiVersion: "v1", kind: "ConfigMap", data: spec.wrong ? { replicas } : data }, { ready: observed.has("web") });
  }
  if (spec.login) response.setDesiredComposedResource(rsp, "login", { apiVersion: "v1", kind: "Secret", stringData: { token: "very-secret" } });
  if (spec.image === "counts") {
    const n = Number(observed.get("count")?.resource.object.data?.number ?? 0) + 1;
    response.setDesiredComposedResource(rsp, "count", { apiVersion: "v1", kind: "ConfigMap", data: { number: String(n) } }, { ready: true });
  }
  if (spec.cache) response.setDesiredComposedResource(rsp, "cache", { apiVersion: "v1", kind: "ConfigMap" }, { ready: true });
  return rsp;
};
`;

const definition = `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: apps.acme.org}
spec:
  group: acme.org
  names: {kind: App, plural: apps}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: string, enum: [s, l]}
              port: {type: integer}
              image: {type: string}
              regions: {type: boolean}
              nested: {type: boolean}
              db: {type: boolean}
              cache: {type: boolean}
              wrong: {type: boolean}
              login: {type: boolean}
              hang: {type: boolean}
              block: {type: boolean}
              tier: {type: boolean}
              schemas: {type: boolean}
          status:
            type: object
            properties: {tier: {type: string}}
`;

const composition = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: apps}
spec:
  compositeTypeRef: {apiVersion: acme.org/v1, kind: App}
  mode: Pipeline
  pipeline: [{step: compose, functionRef: {name: function-app}}]
`;

const files = {
  "fn.ts": source,
  "definition.yaml": definition,
  "composition.yaml": composition,
  "functions.yaml":
    "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: function-app, annotations: {purlin.dev/source: fn.ts}}\n",
  "xr.yaml": "apiVersion: acme.org/v1\nkind: App\nmetadata: {name: shop, namespace: team-a}\nspec: {size: s}\n",
};

const testFile = (cases: string, inputs = ""): string => `apiVersion: test.purlin.dev/v1alpha1
kind: CompositionTest
metadata: {name: apps}
spec:
  inputs: {xr: xr.yaml, xrd: definition.yaml, composition: composition.yaml, functions: functions.yaml${inputs}}
  cases:
${cases}`;

function project(more: Readonly<Record<string, string>>): TempFolder {
  const folder = tempFolder({ ...files, ...more });
  const sdk = dirname(dirname(fileURLToPath(import.meta.resolve("@purlin/function-sdk"))));
  mkdirSync(join(folder.path, "node_modules/@purlin"), { recursive: true });
  symlinkSync(sdk, join(folder.path, "node_modules/@purlin/function-sdk"));
  return folder;
}

const env = { HOME: "/nonexistent", PATH: process.env["PATH"] };
const run = (folder: TempFolder, ...args: readonly string[]): Promise<Outcome> =>
  runInProcess(["test", ...args], { cwd: folder.path, env });

const passing = `  - name: makes one resource
    expect:
      resources: {only: [web], count: 1, kinds: {ConfigMap: 1}}
      resource: {web: {kind: ConfigMap, data: {replicas: "1"}}, cache: absent}
      synced: true
      calls: {function-app: 1}
      writes: 1
      cel: ["resources.web.data.replicas == '1'", "resources.all(n, has(resources[n].metadata.labels))"]
  - name: database first, then the app
    patch: {spec: {db: true}}
    reconciles:
    - {name: first, expect: {resources: {only: [db]}, ready: false}}
    - name: database has an address
      change: {observed: {db: {status: {address: 10.0.0.5}}}, ready: [db]}
      expect: {resources: {only: [db, web]}, resource: {web: {data: {host: 10.0.0.5}}}}
    - {name: again, change: {ready: all}}
    - {name: steady, change: {ready: all}, expect: {ready: true, unchanged: true}}
  - name: size
    each:
    - {name: small, patch: {spec: {size: s}}, expect: {resource: {web: {data: {replicas: "1"}}}}}
    - {name: large, patch: {spec: {size: l}}, expect: {resource: {web: {data: {replicas: {$regex: "^3$"}}}}}}
  - name: a missing image is a warning
    patch: {spec: {image: nowhere/app}}
    expect:
      results: [{severity: Warning, target: CompositeAndClaim, message: {$regex: nowhere/app}, step: compose}]
      events: [{type: Warning}]
  - name: without the region map it waits
    patch: {spec: {regions: true}}
    expect: {requirements: {regions: {apiVersion: v1, kind: ConfigMap, matchName: regions}}, resources: {count: 0}}
  - name: with the region map
    patch: {spec: {regions: true}}
    inputs: {required: [{apiVersion: v1, kind: ConfigMap, metadata: {name: regions, namespace: default}, data: {eu: west-1}}]}
    expect: {resource: {bucket: {kind: Bucket, spec: {region: west-1}}}, calls: {function-app: 2}}
  - name: port 0 is fatal
    patch: [{op: add, path: /spec/port, value: 0}]
    expect: {fatal: "port", conditions: [{type: Synced, status: "False"}], writes: 0}
  - name: a word for a number is refused by the schema
    patch: {spec: {port: web}}
    expect: {valid: false}
  - name: turning the cache off deletes only the cache
    reconciles:
    - {change: {xr: {spec: {cache: true}}}, expect: {resources: {only: [cache, web]}}}
    - {change: {xr: {spec: {cache: false}}, ready: all}, expect: {deleted: [cache], resource: {web: {$any: true}, cache: absent}}}
  - name: a nested composite resource becomes ready
    patch: {spec: {nested: true}}
    reconciles: [{until: settled, change: {ready: all}}]
    expect: {resource: {child: {kind: App}}, ready: true, nested: {child: {resources: {only: [web]}, ready: true}}}
  - name: an observed resource is kept
    patch: {spec: {db: true}}
    inputs: {observed: [{apiVersion: db.example.org/v1, kind: Db, metadata: {name: mine, annotations: {crossplane.io/composition-resource-name: db}}, status: {address: 10.1.1.1}}]}
    expect: {resource: {db: {metadata: {name: mine}}, web: {data: {host: 10.1.1.1}}}}
  - name: deletion
    reconciles:
    - {expect: {resources: {count: 1}}}
    - {change: {delete: true}, until: settled, expect: {not: {xr: {$any: true}}}}
  - {name: golden, expect: {golden: golden/app.yaml}}
  - {name: not now, skip: waits for a fix}
`;

test("cases with chained reconciles, tables, requirements, nested resources, deletions and golden files pass", async () => {
  using folder = project({ "apps.test.yaml": testFile(passing) });
  const outcome = await run(folder, ".", "--junit", "report.xml");
  assert.equal(outcome.exitCode, 0, outcome.stdout + outcome.stderr);
  assert.match(outcome.stdout, /✓ size\/large/);
  assert.match(outcome.stdout, /- not now \(skipped: waits for a fix\)/);
  assert.match(outcome.stdout, /\n14 passed, 1 skipped in 1 file \(/);
  assert.match(outcome.stderr, /^wrote golden\/app\.yaml$/m);
  assert.match(readFileSync(join(folder.path, "golden/app.yaml"), "utf8"), /kind: App[\s\S]*kind: ConfigMap/);
  assert.match(
    readFileSync(join(folder.path, "report.xml"), "utf8"),
    /<testsuite name="apps\.test\.yaml" tests="15" failures="0" skipped="1"/,
  );
  const again = await runInProcess(["test", "--parallel", "1", "--reporter", "tap"], {
    cwd: folder.path,
    env: { ...env, CI: "1" },
  });
  assert.equal(again.exitCode, 0, again.stdout);
  assert.match(again.stdout, /\n1\.\.15\n$/);
});

test("without a definition, composite resources, claims and the status of functions keep every field", async () => {
  const cases = `  - name: status
    inputs: {xr: wide.yaml}
    expect: {xr: {status: {tier: none}, extra: {kept: [1]}, spec: {tier: true, deep: {er: yes}}}, synced: true}
  - name: no spec
    inputs: {xr: {apiVersion: acme.org/v1, kind: App, metadata: {name: bare, namespace: team-a}}}
    expect: {resources: {only: [web]}}
  - name: claim
    inputs: {claim: claim.yaml}
    expect: {claim: {status: {tier: none}}, xr: {status: {tier: none}}, calls: {function-app: 1}}
  - name: a claim is reconciled as often as the case says
    inputs: {claim: claim.yaml}
    reconciles: [{expect: {calls: {function-app: 1}}}, {expect: {calls: {function-app: 1}}}]
`;
  using folder = project({
    "apps.test.yaml": testFile(cases)
      .replace("xr: xr.yaml, xrd: definition.yaml, ", "")
      .replaceAll("er: yes", 'er: "yes"'),
    "wide.yaml":
      'apiVersion: acme.org/v1\nkind: App\nmetadata: {name: shop, namespace: team-a}\nextra: {kept: [1]}\nspec: {tier: true, deep: {er: "yes"}}\n',
    "claim.yaml":
      "apiVersion: acme.org/v1\nkind: Shop\nmetadata: {name: shop, namespace: team-a}\nspec: {tier: true, db: true}\n",
  });
  const { exitCode, stdout, stderr } = await run(folder);
  assert.equal(exitCode, 0, stdout + stderr);
  const undeclared = definition.replace(
    "properties: {tier: {type: string}}",
    "x-kubernetes-preserve-unknown-fields: true",
  );
  folder.write("definition.yaml", undeclared);
  folder.write("declared.test.yaml", testFile("  - {name: undeclared, patch: {spec: {tier: true}}}\n"));
  const declared = await run(folder, "declared.test.yaml");
  assert.equal(declared.exitCode, 1);
  assert.match(declared.stdout, /\.status\.tier: field not declared in schema/);
});

test("failures name each field, the step that set it and the place of the case", async () => {
  const cases = `  - name: wrong
    expect:
      resource: {web: {data: {replicas: "2"}}, db: {$any: true}}
      ready: true
  - {name: number, expect: {writes: {$gt: 1}}}
  - {name: "invalid \\x01 output", patch: {spec: {wrong: true}}, expect: {resources: {count: 1}}}
  - {name: hangs, timeout: 3s, patch: {spec: {hang: true}}}
  - {name: golden, expect: {golden: golden.yaml}}
  - {name: secret, patch: {spec: {login: true}}, expect: {resource: {login: {data: {token: dGVzdA==}}}}}
`;
  using folder = project({ "apps.test.yaml": testFile(cases) });
  const outcome = await runInProcess(["test", "--junit", "r.xml"], { cwd: folder.path, env: { ...env, CI: "true" } });
  assert.equal(outcome.exitCode, 1);
  for (const line of [
    'resource.web.data.replicas: expected "2", got "1" (set by step "compose")',
    "resource.db: resource is missing; composed: web",
    "writes: expected more than 1, got 1",
    "timed out after 3s",
    'expected "2", got "1" (set by step "compose")  at apps.test.yaml:9:31',
    "golden: golden.yaml does not exist: write it with --update new",
    "at apps.test.yaml:7:5",
  ]) {
    assert.ok(outcome.stdout.includes(line), `${line}\n${outcome.stdout}`);
  }
  assert.match(outcome.stdout, /ready: expected true, got false \(Creating/);
  assert.match(outcome.stdout, /valid: expected true, got false: .*\.data\.replicas: expected string/);
  assert.equal(existsSync(join(folder.path, "golden.yaml")), false);
  assert.match(outcome.stdout, /resource\.login\.data\.token: another value \(sensitive\)/);
  assert.doesNotMatch(outcome.stdout, new RegExp(`very-secret|${Buffer.from("very-secret").toString("base64")}`));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for one.
  assert.doesNotMatch(readFileSync(join(folder.path, "r.xml"), "utf8"), /\u0001/);
  assert.match(readFileSync(join(folder.path, "r.xml"), "utf8"), /<system-out>App\/shop .*Ready=False/);
});

test("the JUnit report of names and messages with control characters and markup is valid XML", async () => {
  const cases = `  - {name: "one \\x01 \\e[31m & <b> \\"c\\" ]]>", expect: {resource: {"w\\x02<": {$any: true}}}}
  - {name: "two \\t \\uFFFE", skip: "not \\0 now"}
`;
  using folder = project({ "apps.test.yaml": testFile(cases) });
  const outcome = await run(folder, ".", "--junit", "r.xml");
  assert.equal(outcome.exitCode, 1, outcome.stdout + outcome.stderr);
  const report = readFileSync(join(folder.path, "r.xml"), "utf8").replaceAll(/time="[0-9.]+"/g, 'time="T"');
  const missing = "resource.w\ufffd&lt;: resource is missing; composed: web";
  const conditions = "Responsive=True (WatchCircuitClosed) Synced=True (ReconcileSuccess) Ready=False (Creating)";
  assert.equal(
    report,
    `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="apps.test.yaml" tests="2" failures="1" skipped="1" time="T">
    <testcase classname="apps" name="one \ufffd \ufffd[31m &amp; &lt;b&gt; &quot;c&quot; ]]&gt;" time="T"><failure message="${missing}">${missing}</failure><system-out>App/shop ${conditions}&#10;└─ ConfigMap/shop-34734596937c  web</system-out></testcase>
    <testcase classname="apps" name="two &#9; \ufffd" time="T"><skipped message="not \ufffd now"/></testcase>
  </testsuite>
</testsuites>
`,
  );
  assert.match(outcome.stdout, /^apps\.test\.yaml\n {2}✗ one \\x01.*\n[\s\S]*\n {2}- two/, "in the order of the file");
});

test("a case that never settles fails, and names the field that keeps changing", async () => {
  const cases = `  - name: counts
    timeout: 120s
    patch: {spec: {image: counts}}
    reconciles: [{until: settled}]
    expect: {synced: true}
`;
  using folder = project({ "apps.test.yaml": testFile(cases) });
  const outcome = await runInProcess(["test"], { cwd: folder.path, env });
  assert.equal(outcome.exitCode, 1, outcome.stdout);
  assert.match(
    outcome.stdout,
    /did not settle after 100 rounds; still changing: ConfigMap\/team-a\/shop-\w+ data\.number: "100" -> "101"/,
  );
});

test("a case of more reconciles than one step may take is not taken for one that never settles", async () => {
  const cases = `  - name: many steps
    timeout: 120s
    reconciles: [{until: 60}, {until: 60}]
    expect: {synced: true}
`;
  using folder = project({ "apps.test.yaml": testFile(cases) });
  const outcome = await runInProcess(["test"], { cwd: folder.path, env });
  assert.equal(outcome.exitCode, 0, outcome.stdout + outcome.stderr);
});

test("a wrong test file ends with 2, with the place and the closest key", async () => {
  using folder = project({});
  const ends = async (cases: string, text: RegExp, more: Record<string, string> = {}): Promise<void> => {
    folder.write("apps.test.yaml", testFile(cases));
    const outcome = await runInProcess(["test"], { cwd: folder.path, env: { ...env, ...more } });
    assert.equal(outcome.exitCode, 2, outcome.stdout + outcome.stderr);
    assert.match(outcome.stderr, text);
  };
  await ends(
    "  - {name: a, expect: {resorces: {count: 1}}}\n",
    /apps\.test\.yaml:7:24: unknown key resorces: did you mean resources\?/,
  );
  await ends("  - {name: a, each: [{patch: {}}]}\n", /apps\.test\.yaml:7:\d+: name: required field is missing/);
  await ends("  - {name: a}\n  - {name: a}\n", /the file has another case "a": make it unique/);
  await ends("  - {name: a, only: true}\n", /only: remove it; CI is set/, { CI: "1" });
  await ends("  - {name: [\n", /apps\.test\.yaml:\d+:\d+: invalid YAML/);
  await ends("  - {name: a, inputs: {xr: nothing.yaml}}\n", /case "a": cannot read nothing\.yaml/);
  await ends(
    "  - {name: a, inputs: {xrd: xr.yaml, composition: [{apiVersion: apiextensions.crossplane.io/v1, kind: Composition, metadata: {name: x}, spec: {}}]}}\n",
    /case "a"|definition/,
  );
});

test("cases are selected by name and tag, listed, and their absence is an error", async () => {
  using folder = project({ "apps.test.yaml": testFile("  - {name: one, tags: [fast]}\n  - {name: two}\n") });
  assert.equal((await run(folder, "--list")).stdout, "apps.test.yaml: one\napps.test.yaml: two\n");
  assert.match((await run(folder, "-t", "^tw", "--reporter", "json")).stdout, /"passed": 1/);
  assert.match((await run(folder, "--tag", "fast", "--reporter", "dot")).stdout, /^\.\n1 passed/);
  const none = await run(folder, "-t", "three");
  assert.equal(none.exitCode, 1);
  assert.match(none.stderr, /no tests: none of 2 cases is selected/);
  assert.equal((await run(folder, "-t", "three", "--pass-with-no-tests")).exitCode, 0);
  folder.write("empty.test.yaml", "");
  const empty = await run(folder, "empty.test.yaml");
  const text =
    "error: empty.test.yaml: the file is empty: expected a document of kind CompositionTest or OperationTest\n";
  assert.deepEqual([empty.exitCode, empty.stderr], [2, text]);
});

test("a function that blocks its process fails its case, and the others run in another process", async () => {
  const others = Array.from({ length: 6 }, (_, at) => `  - {name: other ${at}, expect: {resources: {count: 1}}}\n`);
  const cases = `${others.slice(0, 3).join("")}  - {name: blocks, timeout: 6s, patch: {spec: {block: true}}}\n${others.slice(3).join("")}`;
  using folder = project({ "apps.test.yaml": testFile(cases) });
  const outcome = await run(folder, "--parallel", "4", "--timeout", "2m", "--reporter", "json");
  const { summary, cases: ended } = JSON.parse(outcome.stdout) as {
    readonly summary: { readonly passed: number; readonly failed: number };
    readonly cases: readonly { readonly name: string; readonly status: string; readonly lines: readonly string[] }[];
  };
  assert.deepEqual([summary.passed, summary.failed], [6, 1], outcome.stdout);
  const blocked = ended.find(({ status }) => status === "failed");
  assert.equal(blocked?.name, "blocks");
  // On a busy machine the time may be over before the call begins.
  const text = /^timed out after 6s(: step "compose": function-app did not answer; its process was ended)?$/;
  assert.match(blocked.lines.join("\n"), text);
});

test("an expression that would never end fails its case alone", async () => {
  const long = `${"a".repeat(40)}!`;
  const cases = `  - {name: hostile, patch: {spec: {image: nowhere/${long}}}, expect: {results: [{message: {$regex: "^image nowhere/(a+)+$"}}]}}
  - {name: hostile fatal, patch: {spec: {port: 0}}, expect: {fatal: "("}}
  - {name: fine, expect: {resource: {web: {data: {replicas: {$cel: "self == '1'"}}}}}}
  - {name: not fine, expect: {resource: {web: {data: {replicas: {$cel: "self == '2'"}}}}}}
`;
  using folder = project({ "apps.test.yaml": testFile(cases) });
  const outcome = await run(folder);
  assert.match(
    outcome.stdout,
    /✗ hostile \(.*\n.*the regular expression .* took more than 1 s on 65 characters: make it simpler/,
  );
  assert.match(outcome.stdout, /fatal: Invalid regular expression/);
  assert.match(outcome.stdout, /✓ fine/);
  assert.match(outcome.stdout, /resource\.web\.data\.replicas: self == '2': expected true, got false/);
});

test("the context of a case, and the release line of Crossplane that it imitates, reach the function", async () => {
  const cases = `  - {name: context, patch: {spec: {tier: true}}, inputs: {context: {env: {tier: dev}}}, expect: {xr: {status: {tier: dev}}}}
  - {name: no context, patch: {spec: {tier: true}}, expect: {xr: {status: {tier: none}}}}
  - {name: old, patch: {spec: {schemas: true}}, inputs: {asCrossplane: v1.17}, expect: {results: [{severity: Warning, message: {$regex: schemas}}]}}
  - {name: new, patch: {spec: {schemas: true}}, expect: {not: {results: [{severity: Warning}]}}}
`;
  using folder = project({ "apps.test.yaml": testFile(cases) });
  const outcome = await run(folder);
  assert.equal(outcome.exitCode, 0, outcome.stdout + outcome.stderr);
  folder.write("apps.test.yaml", testFile("  - {name: a, inputs: {asCrossplane: v1.2}}\n"));
  const wrong = await run(folder);
  assert.deepEqual(
    [wrong.exitCode, /asCrossplane: expected one of v1\.15, .*, not "v1\.2"/.test(wrong.stderr)],
    [2, true],
  );
});

test("functions run from package files, and from images in a registry", async () => {
  using source = functionPackage();
  const built = await runInProcess(["xpkg", "build", "-o", "hello.xpkg"], {
    cwd: source.path,
    env: { ...process.env },
  });
  assert.equal(built.exitCode, 0, built.stderr);
  using stored = tempFolder();
  await using closing = new AsyncDisposableStack();
  const registry = await startRegistry({ directory: stored.path });
  closing.defer(() => registry.close());
  const image = `${registry.address}/acme/function-hello:v1`;
  const pushed = await runInProcess(["xpkg", "push", "-f", "hello.xpkg", image], { cwd: source.path, env });
  assert.equal(pushed.exitCode, 0, pushed.stderr);
  const head = "apiVersion: pkg.crossplane.io/v1\nkind: Function\n";
  using folder = project({
    "functions.yaml": `${head}metadata: {name: function-app, annotations: {purlin.dev/source: ${join(source.path, "hello.xpkg")}}}\n`,
    "image.yaml": `${head}metadata: {name: function-app}\nspec: {package: "${image}"}\n`,
    "missing.yaml": `${head}metadata: {name: function-app}\nspec: {package: "${image}-none"}\n`,
    "apps.test.yaml": testFile("  - {name: a, expect: {resources: {count: 0}, calls: {function-app: 1}}}\n"),
    "image.test.yaml": testFile("  - {name: b, expect: {resources: {count: 0}, synced: true}}\n").replace(
      "functions.yaml",
      "image.yaml",
    ),
    "missing.test.yaml": testFile("  - {name: c}\n").replace("functions.yaml", "missing.yaml"),
  });
  const outcome = await run(folder, "--parallel", "1", "--reporter", "tap");
  assert.match(outcome.stdout, /^ok \d - apps\.test\.yaml: a$/m);
  assert.match(outcome.stdout, /^ok \d - image\.test\.yaml: b$/m);
  assert.match(outcome.stdout, /^not ok \d - missing\.test\.yaml: c\n# .*function-hello:v1-none.*not found/m);
});

test("--coverage reports what no case covers, and fails below its minimum", async () => {
  const patches = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: apps}
spec:
  compositeTypeRef: {apiVersion: acme.org/v1, kind: App}
  mode: Pipeline
  pipeline:
  - step: compose
    functionRef: {name: function-app}
    input:
      apiVersion: pt.fn.crossplane.io/v1beta1
      kind: Resources
      resources:
      - {name: web, patches: [{fromFieldPath: spec.size, toFieldPath: data.size}, {fromFieldPath: spec.image, toFieldPath: data.image}]}
      - {name: db}
`;
  const cases = "  - {name: small, expect: {resources: {count: 1}}}\n";
  using folder = project({ "composition.yaml": patches, "apps.test.yaml": testFile(cases) });
  const outcome = await run(folder, "--coverage", ".");
  assert.equal(outcome.exitCode, 0, outcome.stdout + outcome.stderr);
  assert.match(outcome.stdout, /^Coverage: \d+(\.\d)? % \(\d+ of \d+\)$/m);
  assert.match(outcome.stdout, /^ {2}Composition apps: 1 of 1 steps, 1 of 2 resources, 1 of 2 patches$/m);
  assert.match(outcome.stdout, /^ {4}resources without a case: db$/m);
  assert.match(outcome.stdout, /^ {4}patches without a case: web: spec\.image -> data\.image$/m);
  assert.match(outcome.stdout, /^ {2}App\.acme\.org: 1 of 13 fields, 1 of 2 enum values$/m);
  assert.match(outcome.stdout, /^ {4}enum values without a case: spec\.size=l$/m);
  folder.write("apps.test.yaml", testFile(`${cases}  - {name: large, patch: {spec: {size: l, image: a, db: true}}}\n`));
  const more = await run(folder, "--coverage=90%", "--reporter", "json");
  assert.equal(more.exitCode, 1);
  assert.match(more.stderr, /^coverage: \d+(\.\d)? % is below the minimum of 90 %$/m);
  const { coverage } = JSON.parse(more.stdout) as {
    readonly coverage: {
      readonly owners: readonly { readonly name: string; readonly patches?: { readonly missing: readonly string[] } }[];
    };
  };
  assert.deepEqual(coverage.owners.find(({ name }) => name === "Composition apps")?.patches?.missing, []);
  const wrong = await run(folder, "--coverage=much");
  assert.deepEqual([wrong.exitCode, wrong.stderr.includes("expected a percentage from 0 to 100")], [2, true]);
});

test("--only-failed runs what failed in the last run in the folder, and --bail ends after some failures", async () => {
  const cases = "  - {name: one}\n  - {name: two, expect: {writes: 7}}\n  - {name: three, expect: {writes: 8}}\n";
  using folder = project({ "apps.test.yaml": testFile(cases) });
  const own = { cwd: folder.path, env: { ...env, XDG_CACHE_HOME: join(folder.path, "cache") } };
  assert.match((await runInProcess(["test"], own)).stdout, /\n2 failed, 1 passed/);
  folder.write("apps.test.yaml", testFile(cases.replace("writes: 7", "writes: 1")));
  assert.match((await runInProcess(["test", "--only-failed"], own)).stdout, /\n1 failed, 1 passed/);
  assert.match((await runInProcess(["test", "--only-failed"], own)).stdout, /\n1 failed, 0 passed/);
  const all = testFile(
    "  - {name: a, expect: {writes: 7}}\n  - {name: b, expect: {writes: 7}}\n  - {name: c, expect: {writes: 7}}\n",
  );
  folder.write("apps.test.yaml", all);
  assert.match((await runInProcess(["test", "--bail", "--parallel", "1", "."], own)).stdout, /\n1 failed, 0 passed/);
  assert.match((await runInProcess(["test", "--bail", "2", "--parallel", "1"], own)).stdout, /\n2 failed, 0 passed/);
});

test("keys of --watch run failed, filtered and all cases, write golden files, and quit", async () => {
  const cases = "  - {name: one, expect: {golden: golden/one.yaml}}\n  - {name: two, expect: {writes: 7}}\n";
  using folder = project({ "apps.test.yaml": testFile(cases), "golden/one.yaml": "old\n" });
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => stdin });
  let text = "";
  const write = (more: string): void => {
    text += more;
  };
  const stdout = { isTTY: true, columns: 100, write, move: write };
  const io = new TestIo({ cwd: folder.path, env: { ...env, XDG_CACHE_HOME: join(folder.path, "cache") } });
  const watching = runCommand(["test", "--watch", "--reporter", "dot"], { ...io, stdin, stdout } as Io);
  const shows = async (key: string, pattern: RegExp): Promise<void> => {
    text = "";
    stdin.write(key);
    await eventually(`${key} shows ${pattern}`, () => pattern.test(text) && text.includes("keys: a all"));
  };
  await shows("", /2 failed, 0 passed/);
  await shows("u", /1 failed, 1 passed/);
  await shows("f", /\n1 failed, 0 passed/);
  await shows("tone\r", /\n1 passed/);
  await shows("a", /1 failed, 1 passed/);
  stdin.write("q");
  assert.equal(await watching, 0);
});

test("the help names every expectation and operator", () => {
  const help = readFileSync(join(import.meta.dirname, "../help/test.md"), "utf8");
  const expectations = testKinds.flatMap((kind) => Object.keys(testFields[kind].expect));
  for (const name of [...expectations, ...operators]) assert.ok(help.includes(`\`${name}`), name);
});
