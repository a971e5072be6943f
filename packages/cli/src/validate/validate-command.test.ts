// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { functionPackage, packageMeta } from "../../test/function-folder.ts";
import { type Outcome, runInProcess } from "../../test/test-io.ts";
import { startEmbeddedServer } from "../apiserver/embedded-server.ts";
import { checks } from "./finding.ts";

const definition = `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: apps.acme.org}
spec:
  group: acme.org
  names: {kind: App, plural: apps}
  scope: Namespaced
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
            required: [size]
            x-kubernetes-validations:
            - {rule: "self.replicas > 0", message: replicas must be positive}
            - {rule: "self.size == oldSelf.size", message: size is immutable}
            properties:
              size: {type: string, enum: [s, m]}
              replicas: {type: integer, default: 1}
              image: {type: string}
              ports: {type: array, items: {type: object, properties: {number: {type: integer}}}}
              extra: {type: object, x-kubernetes-preserve-unknown-fields: true}
  - {name: v1beta1, served: true, referenceable: false, schema: {openAPIV3Schema: {type: object}}}
`;

const app = (spec: string, metadata = "name: shop"): string =>
  `apiVersion: acme.org/v1\nkind: App\nmetadata: {${metadata}}\nspec: ${spec}\n`;

/** A Composition of one step that patches and transforms one Deployment. */
const patching = (
  patches: string,
  { type = "acme.org/v1", sets = "[]" } = {},
): string => `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: apps}
spec:
  compositeTypeRef: {apiVersion: ${type}, kind: App}
  mode: Pipeline
  pipeline:
  - step: pt
    functionRef: {name: function-patch-and-transform}
    input:
      apiVersion: pt.fn.crossplane.io/v1beta1
      kind: Resources
      patchSets: ${sets}
      resources:
      - name: web
        base:
          apiVersion: apps/v1
          kind: Deployment
          spec:
            selector: {matchLabels: {a: b}}
            template:
              metadata: {labels: {a: b}}
              spec: {containers: [{name: main}]}
        patches:
        - {fromFieldPath: spec.size, toFieldPath: "spec.template.spec.containers[0].image"}
${patches}`;

const run = (folder: TempFolder, ...args: readonly string[]): Promise<Outcome> =>
  runInProcess(["validate", ...args], { cwd: folder.path, env: { HOME: folder.path } });

/** The findings in text, without snippets. */
const findings = ({ stdout }: Outcome): string[] => stdout.split("\n").filter((line) => / \[V\d\d\]$/.test(line));

describe("objects", () => {
  test("all that is wrong with an object is reported, each with its line, column and the line itself", async () => {
    using folder = tempFolder({
      "definition.yaml": definition,
      "app.yaml": app("\n  size: xl\n  imag: nginx\n  ports:\n  - {numbr: 1}"),
    });
    const outcome = await run(folder, ".");
    assert.equal(outcome.exitCode, 2);
    assert.deepEqual(findings(outcome), [
      'app.yaml:5:3: error: App/shop: spec.size: Unsupported value: "xl": supported values: "s", "m" [V01]',
      "app.yaml:6:3: error: App/shop: spec.imag: unknown field: did you mean image? [V02]",
      "app.yaml:8:6: error: App/shop: spec.ports[0].numbr: unknown field: did you mean number? [V02]",
    ]);
    assert.match(outcome.stdout, /\n {4}8 \| {3}- \{numbr: 1\}\n {6}\| {6}\^\n/);
    assert.match(outcome.stdout, /2 objects in 2 files: 3 errors, 0 warnings\n$/);
  });

  test("positions are right with Windows line ends, comments, several documents and anchors", async () => {
    const text = `# first\n---\n${definition}---\n# second\napiVersion: acme.org/v1\nkind: App\nmetadata: {name: a}\nspec: {size: s, replica: 1}\n---\napiVersion: acme.org/v1\nkind: App\nmetadata: {name: b}\nspec:\n  size: s\n  ports: [&port {numbr: 1}, *port]\n`;
    using folder = tempFolder({ "all.yaml": text.replaceAll("\n", "\r\n") });
    const line = text.slice(0, text.indexOf("replica:")).split("\n").length;
    assert.deepEqual(findings(await run(folder, "all.yaml")), [
      `all.yaml:${line}:17: error: App/a: spec.replica: unknown field: did you mean replicas? [V02]`,
      `all.yaml:${line + 7}:18: error: App/b: spec.ports[0].numbr: unknown field: did you mean number? [V02]`,
      `all.yaml:${line + 7}:29: error: App/b: spec.ports[1].numbr: unknown field: did you mean number? [V02]`,
    ]);
  });

  test("a tab is one column; where YAML does not allow one, its place is named", async () => {
    const head = "apiVersion:\tacme.org/v1\nkind: App\nmetadata: {name: a}\n";
    using folder = tempFolder({
      "definition.yaml": definition,
      "block.yaml": `${head}spec:\n  size:\t\ts\n  replica:\t1\t# a comment\n`,
      "wrong.yaml": `${head}spec:\n\tsize: s\n`,
    });
    assert.deepEqual(findings(await run(folder, "definition.yaml", "block.yaml")), [
      "block.yaml:6:3: error: App/a: spec.replica: unknown field: did you mean replicas? [V02]",
    ]);
    const wrong = await run(folder, "definition.yaml", "wrong.yaml");
    assert.equal(wrong.exitCode, 2);
    assert.match(wrong.stdout + wrong.stderr, /wrong\.yaml:5:\d+: .*YAML/);
  });

  test("CEL rules are evaluated; a rule about changes only with the object as it was", async () => {
    using folder = tempFolder({
      "definition.yaml": definition,
      "app.yaml": app("{size: m, replicas: 0}"),
      "old/app.yaml": app("{size: s, replicas: 2}"),
    });
    const without = await run(folder, "definition.yaml", "app.yaml");
    assert.deepEqual(findings(without), [
      "app.yaml:4:1: error: App/shop: spec: Invalid value: replicas must be positive [V03]",
    ]);
    const skipped = /^note: 1 CEL rule about changes was not evaluated: pass the objects as they were with --old$/m;
    assert.match(without.stdout, skipped);
    const document = JSON.parse((await run(folder, "definition.yaml", "app.yaml", "-o", "json")).stdout) as {
      readonly summary: { readonly skippedRules?: number };
    };
    assert.equal(document.summary.skippedRules, 1);
    assert.doesNotMatch((await run(folder, "definition.yaml", "app.yaml", "--old", "old")).stdout, skipped);
    const changed = findings(await run(folder, "definition.yaml", "app.yaml", "--old", "old"));
    assert.ok(
      changed.includes("app.yaml:4:1: error: App/shop: spec: Invalid value: size is immutable [V03]"),
      changed.join("\n"),
    );
  });

  test("with --cluster the object as it was is the live one, if there is one and it may be read", async () => {
    const crd = (rule: string): string => `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boxes.acme.org}
spec:
  group: acme.org
  names: {kind: Box, plural: boxes}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer}}${rule}}}
`;
    const box = (name: string, size: number): string => `---
apiVersion: acme.org/v1
kind: Box
metadata: {name: ${name}}
spec: {size: ${size}}
`;
    const rule = ', x-kubernetes-validations: [{rule: "self.size >= oldSelf.size", message: must not shrink}]';
    using folder = tempFolder({
      "live.yaml": `${crd("")}${box("shop", 5)}`,
      "crd.yaml": crd(rule),
      "boxes.yaml": `${box("shop", 4)}${box("fresh", 1)}`,
      "larger.yaml": box("shop", 6),
    });
    await using _server = await startEmbeddedServer({
      directory: join(folder.path, ".purlin"),
      port: 0,
      warn: () => {},
    });
    const applied = await run(folder, "crd.yaml");
    assert.equal(applied.exitCode, 0);
    assert.equal((await runInProcess(["apply", "live.yaml"], { cwd: folder.path })).exitCode, 0);
    const judged = await run(folder, "crd.yaml", "boxes.yaml", "--cluster");
    assert.equal(judged.stderr, "");
    assert.deepEqual(findings(judged), ["boxes.yaml:5:1: error: Box/shop: spec: Invalid value: must not shrink [V03]"]);
    assert.match(judged.stdout, /^note: 1 CEL rule about changes was not evaluated/m, "the one of the fresh Box");
    const larger = await run(folder, "crd.yaml", "larger.yaml", "--cluster");
    assert.deepEqual([larger.exitCode, findings(larger)], [0, []]);
    assert.doesNotMatch(larger.stdout, /not evaluated/);
  });

  test("claims are judged by the definition that offers them: fields of composite resources alone, and a kind with a typing error", async () => {
    const claims = definition
      .replace("crossplane.io/v2", "crossplane.io/v1")
      .replace(
        "names: {kind: App, plural: apps}",
        "names: {kind: XApp, plural: xapps}\n  claimNames: {kind: App, plural: apps}",
      )
      .replace("name: apps.acme.org", "name: xapps.acme.org")
      .replace("  scope: Namespaced\n", "");
    const other = app("{size: s}").replace("kind: App", "kind: Ap");
    using folder = tempFolder({
      "definition.yaml": claims,
      "claim.yaml": `${app("{size: s, claimRef: {name: a}, compositeDeletePolicy: Never}", "name: a, namespace: b")}---\n${other}`,
    });
    assert.deepEqual(findings(await run(folder, ".")), [
      "claim.yaml:4:17: error: App/a: spec.claimRef: only composite resources have this field: remove it from the claim [V13]",
      'claim.yaml:4:38: error: App/a: spec.compositeDeletePolicy: Unsupported value: "Never": supported values: "Background", "Foreground" [V01]',
      "claim.yaml:7:1: warning: Ap/shop: no schema for acme.org/v1 Ap: did you mean App? [V01]",
    ]);
  });

  test("EnvironmentConfigs, which have no spec, are judged without a definition among the files", async () => {
    const config =
      "apiVersion: apiextensions.crossplane.io/v1beta1\nkind: EnvironmentConfig\nmetadata: {name: a}\ndat: {}\n";
    using folder = tempFolder({ "config.yaml": config });
    assert.deepEqual(findings(await run(folder, ".")), [
      "config.yaml:4:1: error: EnvironmentConfig/a: dat: unknown field: did you mean data? [V02]",
    ]);
  });

  test("built-in kinds and metadata are judged as by an API server, wrong types with their place", async () => {
    const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: Web, namespace: team-a}
spec:
  replicas: "3"
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: web, image: x}]}
`;
    const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, namespace: b}\n";
    using folder = tempFolder({ "a.yaml": deployment, "b.yaml": deployment.replace('"3"', "3"), "c.yaml": namespace });
    assert.deepEqual(
      findings(await run(folder, ".")).map((line) => line.replace(/a lowercase RFC.*(?= \[)/, "…")),
      [
        "a.yaml:5:3: error: Deployment/Web: spec.replicas: expected numeric (int or float), got string [V01]",
        'b.yaml:3:12: error: Deployment/Web: metadata.name: Invalid value: "Web": … [V05]',
        "c.yaml:3:21: error: Namespace/a: metadata.namespace: Namespace is cluster-scoped: remove the namespace [V05]",
      ],
    );
  });

  test("a composite resource of a file that lacks its spec is not taken for a rendered one", async () => {
    const partial = app("{crossplane: {resourceRefs: []}}\nstatus: {conditions: []}");
    using folder = tempFolder({ "definition.yaml": definition, "app.yaml": partial });
    assert.match(findings(await run(folder, ".")).join(), /App\/shop: spec\.size: Required value \[V01\]/);
  });

  test("a namespace that is not allowed hides nothing else", async () => {
    const wrong = "apiVersion: v1\nkind: Namespace\nmetadata: {name: A, namespace: b}\nspce: {}\n";
    using folder = tempFolder({ "wrong.yaml": wrong });
    assert.deepEqual(
      findings(await run(folder, ".")).map((line) => line.replace(/: error: .*(?= \[)/, "")),
      ["wrong.yaml:3:12 [V05]", "wrong.yaml:3:21 [V05]", "wrong.yaml:4:1 [V02]"],
    );
  });

  test("Usages, Operations, managed resource definitions, rollouts and configurations are judged", async () => {
    const pipeline = "{mode: Pipeline, pipeline: [{step: a, functionRef: {name: f}}]}";
    const specs: Readonly<Record<string, string>> = {
      "protection.crossplane.io/v1beta1 Usage": `{of: {apiVersion: v1, kind: ConfigMap, resourceRef: {name: a}}, reason: r}`,
      "protection.crossplane.io/v1beta1 ClusterUsage": `{of: {apiVersion: v1, kind: Namespace, resourceRef: {name: a}}, reason: r}`,
      "ops.crossplane.io/v1alpha1 Operation": pipeline,
      "ops.crossplane.io/v1alpha1 CronOperation": `{schedule: "0 0 * * *", operationTemplate: {spec: ${pipeline}}}`,
      "ops.crossplane.io/v1alpha1 WatchOperation": `{watch: {apiVersion: v1, kind: ConfigMap}, operationTemplate: {spec: ${pipeline}}}`,
      "apiextensions.crossplane.io/v1alpha1 ManagedResourceDefinition":
        "{group: e.org, names: {kind: X, plural: xs}, scope: Cluster, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}",
      "apiextensions.crossplane.io/v1alpha1 ManagedResourceActivationPolicy": '{activate: ["*"]}',
      "pkg.crossplane.io/v1alpha1 FunctionRollout": "{functionRef: {name: f}, steps: [{percent: 100}]}",
      "pkg.crossplane.io/v1alpha1 FunctionRolloutTemplate": "{steps: [{percent: 100}]}",
      "pkg.crossplane.io/v1beta1 DeploymentRuntimeConfig": "{serviceTemplate: {metadata: {name: a}}}",
      "pkg.crossplane.io/v1beta1 ImageConfig": "{matchImages: [{prefix: a}], rewriteImage: {prefix: b}}",
    };
    const manifest = (type: string, spec: string): string => {
      const [apiVersion = "", kind = ""] = type.split(" ");
      const where = kind === "Usage" ? ", namespace: default" : "";
      return `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: xs.e.org${where}}\nspec: ${spec}\n`;
    };
    const all = (change: (spec: string) => string): string =>
      Object.entries(specs)
        .map(([type, spec]) => manifest(type, change(spec)))
        .join("---\n");
    using folder = tempFolder({
      "good.yaml": all((spec) => spec),
      "bad.yaml": all((spec) => `{reson: r, ${spec.slice(1)}`),
    });
    const good = await run(folder, "good.yaml", "--strict");
    assert.deepEqual([good.exitCode, findings(good)], [0, []], good.stdout);
    const unknown = findings(await run(folder, "bad.yaml")).filter((line) =>
      line.includes("spec.reson: unknown field"),
    );
    assert.deepEqual(
      unknown.map((line) => /error: (\w+)\//.exec(line)?.[1]),
      Object.keys(specs).map((type) => type.split(" ")[1]),
    );
  });

  test("a kind without a schema is a warning, and an error with --strict; duplicate keys and broken YAML end with 2", async () => {
    using folder = tempFolder({
      "bucket.yaml": "apiVersion: s3.example.org/v1\nkind: Bucket\nmetadata: {name: a}\n",
      "twice.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: b\n  a: c\n",
    });
    const lenient = await run(folder, "bucket.yaml");
    assert.equal(lenient.exitCode, 0);
    assert.match(lenient.stdout, /bucket\.yaml:2:1: warning: .*no schema for s3\.example\.org\/v1 Bucket/);
    assert.match(lenient.stdout, /1 object in 1 file: 0 errors, 1 warning, 1 without a schema\n$/);
    assert.equal((await run(folder, "bucket.yaml", "--strict")).exitCode, 2);
    const twice = await run(folder, "twice.yaml");
    assert.equal(twice.exitCode, 2);
    assert.match(twice.stderr, /twice\.yaml:6:3: /);
  });

  test("what purlin render prints is validated; its results and context are not objects", async () => {
    const rendered = `${app("{size: s}")}---
${app("{crossplane: {resourceRefs: []}}\nstatus: {conditions: []}", "name: partial, labels: {'a b': c}")}---
apiVersion: apps/v1
kind: Deployment
metadata: {generateName: shop-, annotations: {crossplane.io/composition-resource-name: web}}
spec: {replicas: -1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b}]}}}
status: {conditions: [{type: Ready}]}
---
apiVersion: render.crossplane.io/v1beta1
kind: Result
message: hello
`;
    using folder = tempFolder({ "definition.yaml": definition });
    const outcome = await runInProcess(["validate", "definition.yaml", "-"], { cwd: folder.path, stdin: rendered });
    assert.equal(findings(outcome).length, 2, outcome.stdout);
    assert.match(outcome.stdout, /App\/partial: metadata\.labels: Invalid value: "a b"/);
    assert.match(outcome.stdout, /spec\.replicas: Invalid value: -1: must be greater than or equal to 0/);
  });
});

describe("definitions", () => {
  test("mistakes in the schema of an XRD are reported where they are written", async () => {
    using folder = tempFolder({
      "keyword.yaml": definition.replace("image: {type: string}", "image: {typ: string}"),
      "rule.yaml": definition.replaceAll("acme.org", "two.org").replace("self.replicas > 0", "self.replica > 0"),
      "twice.yaml": definition.replaceAll("acme.org", "two.org"),
    });
    const found = findings(await run(folder, ".")).join("\n");
    assert.match(
      found,
      /keyword\.yaml:25:23: error: .*image\.typ: unknown schema keyword: did you mean type\? \[V04\]/,
    );
    assert.match(found, /rule\.yaml:\d+:\d+: error: .*undefined field 'replica'.* \[V04\]/);
    assert.match(
      found,
      /twice\.yaml:6:3: error: .*apps\.two\.org is also defined at rule\.yaml:6:3: remove one of them \[V04\]/,
    );
  });
});

describe("Compositions", () => {
  test("the type, the functions and the readiness of a pipeline are checked", async () => {
    const composition = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: apps}
spec:
  compositeTypeRef: {apiVersion: acme.org/v1beta1, kind: App}
  mode: Pipeline
  pipeline:
  - step: render
    functionRef: {name: function-go-templatin}
    requirements:
      requiredResources: [{requirementName: x, apiVersion: nope.org/v1, kind: Nope, name: a}]
  - step: again
    functionRef: {name: function-go-templating}
`;
    const fn =
      "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: function-go-templating, annotations: {purlin.dev/source: fn.ts}}\nspec: {package: registry.example.org/f:v1}\n";
    using folder = tempFolder({ "definition.yaml": definition, "composition.yaml": composition, "functions.yaml": fn });
    assert.deepEqual(findings(await run(folder, ".")), [
      "composition.yaml:5:22: error: Composition/apps: spec.compositeTypeRef.apiVersion: version v1beta1 of App is not referenceable: use v1 [V06]",
      'composition.yaml:9:19: error: Composition/apps: step "render": no Function function-go-templatin among the objects: did you mean function-go-templating? [V08]',
      'composition.yaml:11:73: warning: Composition/apps: step "render" requires nope.org/v1 Nope, which no definition among the objects offers [V09]',
    ]);
    const ready = composition.replace("templatin}", "templating}").replace("v1beta1", "v1");
    folder.write("composition.yaml", ready);
    assert.match(
      (await run(folder, ".")).stdout,
      /composition\.yaml:7:3: warning: .*no step decides whether resources are ready.* \[V12\]/,
    );
  });

  test("steps without a name, with the names of others, without a function and with bad credentials", async () => {
    const composition = (name: string, pipeline: string): string => `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: ${name}}
spec:
  compositeTypeRef: {apiVersion: acme.org/v1, kind: App}
  mode: Pipeline
  pipeline: ${pipeline}
`;
    const f = "functionRef: {name: f}";
    const requiring =
      "requirements: {requiredResources: [{requirementName: x, apiVersion: v1, kind: Pod, name: a, matchLabels: {a: b}}]}";
    using folder = tempFolder({
      "definition.yaml": definition,
      "functions.yaml":
        "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: f, annotations: {purlin.dev/source: f.ts}}\nspec: {package: a.example.org/f:v1}\n",
      "a.yaml": composition("a", `[{step: "", ${f}}]`),
      "b.yaml": composition("b", `[{step: s, ${f}}, {step: s, ${f}}]`),
      "c.yaml": composition("c", "[{step: s}]"),
      "d.yaml": composition("d", `[{step: s, ${f}, credentials: [{name: c, source: Secret}]}]`),
      "e.yaml": composition("e", `[{step: s, ${f}, ${requiring}}]`),
      "f.yaml": composition("f", "[]").replace("mode: Pipeline", "mode: Resources"),
    });
    assert.deepEqual(
      findings(await run(folder, ".")).map((line) =>
        line.replace(/^(\w)\.yaml:\d+:\d+: error: Composition\/\w: /, "$1 "),
      ),
      [
        "a spec.pipeline[0].step: the step has no name: add one [V06]",
        'b spec.pipeline[1]: Duplicate value: {"step":"s"} [V01]',
        "c spec.pipeline[0]: Invalid value: exactly one of functionRef and function is required [V03]",
        "d spec.pipeline[0].credentials[0]: Invalid value: the Secret source requires a secretRef [V03]",
        "e spec.pipeline[0].requirements.requiredResources[0]: Invalid value: name and matchLabels are mutually exclusive [V03]",
        'f spec.mode: Unsupported value: "Resources": supported values: "Pipeline" [V01]',
        "f spec.pipeline: Invalid value: 0: spec.pipeline in body should have at least 1 items [V01]",
      ],
    );
  });

  test("one resource name with two kinds, resources after a filter, and readiness that is decided too early", async () => {
    const composed = (step: string, kind: string): string => `  - step: ${step}
    functionRef: {name: function-patch-and-transform}
    input:
      apiVersion: pt.fn.crossplane.io/v1beta1
      kind: Resources
      resources: [{name: web, base: {apiVersion: v1, kind: ${kind}}}]
`;
    const composition = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: apps}
spec:
  compositeTypeRef: {apiVersion: acme.org/v1, kind: App}
  mode: Pipeline
  pipeline:
  - {step: ready, functionRef: {name: function-auto-ready}}
  - step: filter
    functionRef: {name: function-cel-filter}
    input: {apiVersion: cel.fn.crossplane.io/v1beta1, kind: Filters, filters: [{name: web, expression: "true"}]}
${composed("one", "ConfigMap")}${composed("two", "Secret")}`;
    using folder = tempFolder({ "definition.yaml": definition, "composition.yaml": composition });
    assert.deepEqual(
      findings(await run(folder, ".")).filter((line) => line.endsWith("[V12]")),
      [
        'composition.yaml:8:6: warning: Composition/apps: step "ready" decides readiness before step "one" adds resources: move it to the end of the pipeline [V12]',
        'composition.yaml:17:20: warning: Composition/apps: step "one" adds resource "web" after step "filter", which decides whether it is dropped: move step "filter" after it [V12]',
        'composition.yaml:23:20: warning: Composition/apps: step "two" adds resource "web" after step "filter", which decides whether it is dropped: move step "filter" after it [V12]',
        'composition.yaml:23:54: error: Composition/apps: resource "web" is v1 Secret in step "two" and v1 ConfigMap in step "one": give them different names [V12]',
      ],
    );
  });

  test("templates of function-go-templating and expressions of function-cel-filter are parsed", async () => {
    const composition = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: apps}
spec:
  compositeTypeRef: {apiVersion: acme.org/v1, kind: App}
  mode: Pipeline
  pipeline:
  - step: render
    functionRef: {name: function-go-templating}
    input:
      apiVersion: gotemplating.fn.crossplane.io/v1beta1
      kind: GoTemplate
      source: Inline
      inline:
        template: |
          {{ range .observed.composite.resource.spec.items }}
          name: {{ .name }}
  - step: filter
    functionRef: {name: function-cel-filter}
    input:
      apiVersion: cel.fn.crossplane.io/v1beta1
      kind: Filters
      filters:
      - {name: a, expression: "observed.composite.resource.spec.size == 's'"}
      - {name: b, expression: "observed.composite.resource.spec.size =="}
`;
    using folder = tempFolder({ "definition.yaml": definition, "composition.yaml": composition });
    const syntax = (outcome: Outcome): string[] => findings(outcome).filter((line) => line.endsWith("[V11]"));
    const [template = "", filter = "", ...others] = syntax(await run(folder, "."));
    assert.equal(
      template,
      'composition.yaml:15:9: error: Composition/apps: step "render": line 1 of the template: unexpected EOF: {{range}} has no {{end}} [V11]',
    );
    assert.match(
      filter,
      /^composition\.yaml:25:19: error: Composition\/apps: step "filter": ERROR: <input>:1:\d+: Syntax error: /,
    );
    assert.deepEqual(others, []);
    folder.write(
      "composition.yaml",
      composition.replace("{{ .name }}", "{{ .name }}{{ end }}").replace('size =="', "size == 'm'\""),
    );
    assert.deepEqual(syntax(await run(folder, ".")), []);
  });

  test("patches: unknown paths, types that do not agree, patch sets, shapes", async () => {
    using folder = tempFolder({
      "definition.yaml": definition,
      "composition.yaml": patching(
        `        - {fromFieldPath: spec.size, toFieldPath: spec.replicas}
        - {fromFieldPath: spec.imag, toFieldPath: "metadata.labels[x]"}
        - {fromFieldPath: spec.size, toFieldPath: spec.template.spec.contaners}
        - {fromFieldPath: spec.extra.any.thing, toFieldPath: "metadata.annotations[example.org/a]"}
        - {type: PatchSet, patchSetName: nope}
        - {type: FromCompositeFieldPat, fromFieldPath: spec.size}
        - {type: CombineFromComposite, toFieldPath: metadata.name}
        - fromFieldPath: spec.replicas
          toFieldPath: spec.replicas
          transforms: [{type: convert, convert: {toType: str}}, {type: string, string: {fmt: "%s"}}]
        - {type: ToCompositeFieldPath, fromFieldPath: status.replicas, toFieldPath: spec.replicas}
`,
        { sets: "[{name: labels, patches: [{fromFieldPath: spec.image, toFieldPath: metadata.name}]}]" },
      ),
    });
    const found = findings(await run(folder, ".")).filter((line) => line.endsWith("[V10]"));
    const at = (text: RegExp): void =>
      assert.equal(found.filter((line) => text.test(line)).length, 1, `${text}\n${found.join("\n")}`);
    at(
      /:26:\d+: error: .*spec\.size is a string here, and spec\.replicas of Deployment is an integer: add a transform/,
    );
    at(/:27:\d+: error: .*spec\.imag: App has no field imag: did you mean image\?/);
    at(/:28:\d+: error: .*Deployment has no field contaners: did you mean containers\?/);
    at(/:30:\d+: error: .*no patch set "nope"; defined: labels/);
    at(/:31:\d+: error: .*unknown patch type FromCompositeFieldPat: did you mean FromCompositeFieldPath\?/);
    at(/:32:\d+: error: .*a patch of type CombineFromComposite needs combine/);
    at(/:35:\d+: error: .*unknown type to convert to str/);
    assert.equal(found.length, 8, found.join("\n"));
  });

  test("a required field that a patch sets is there; one that only an optional patch sets is a warning", async () => {
    using folder = tempFolder({ "definition.yaml": definition, "composition.yaml": patching("") });
    assert.deepEqual(
      findings(await run(folder, ".")).filter((line) => line.includes("V10")),
      [],
    );
    folder.write("composition.yaml", patching("").replace("spec.size", "spec.image"));
    const [warning = ""] = findings(await run(folder, ".")).filter((line) => line.includes("V10"));
    assert.match(warning, /warning: .*containers\[0\]\.image: Required value, and only an optional patch sets it: /);
  });

  test("the input of a step is checked against the schema in the package of its function", async () => {
    const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sizes.hello.fn.example.org}
spec:
  group: hello.fn.example.org
  scope: Namespaced
  names: {kind: Size, plural: sizes, listKind: SizeList, singular: size}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {default: {type: string}}}}
`;
    using project = functionPackage({ "package/input.yaml": crd });
    assert.equal(
      (await runInProcess(["xpkg", "build", "-o", "hello.xpkg", "--skip-start"], { cwd: project.path })).exitCode,
      0,
    );
    const composition = (input: string): string => `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: apps}
spec:
  compositeTypeRef: {apiVersion: acme.org/v1, kind: App}
  mode: Pipeline
  pipeline: [{step: hello, functionRef: {name: function-hello}, input: ${input}}]
`;
    project.write("platform/definition.yaml", definition);
    const judge = async (input: string): Promise<string> => {
      project.write("platform/composition.yaml", composition(input));
      return findings(await run(project, "platform", "hello.xpkg")).join("\n");
    };
    const size = "apiVersion: hello.fn.example.org/v1, kind: Size";
    assert.equal(await judge(`{${size}, default: s}`), "");
    assert.match(
      await judge(`{${size}, default: 1}`),
      /composition\.yaml:7:\d+: error: .*default: Invalid value: "integer".* \[V07\]/,
    );
    assert.match(
      await judge("{apiVersion: pt.fn.crossplane.io/v1beta1, kind: Resources}"),
      /step "hello": function-hello takes hello\.fn\.example\.org\/v1 Size, not pt\.fn\.crossplane\.io\/v1beta1 Resources \[V07\]/,
    );
    project.write("package/crossplane.yaml", `${packageMeta()}spec: {capabilities: [operation]}\n`);
    const build = ["xpkg", "build", "-o", "hello.xpkg", "--skip-start"];
    assert.equal((await runInProcess(build, { cwd: project.path })).exitCode, 0);
    assert.match(
      await judge(`{${size}, default: s}`),
      /composition\.yaml:7:\d+: error: .*step "hello": function-hello cannot compose: the capabilities of its package are operation \[V08\]/,
    );
  });
});

describe("output", () => {
  test("JSON has the document of Crossplane with the place and code of each finding", async () => {
    using folder = tempFolder({ "definition.yaml": definition, "app.yaml": app("{size: xl}") });
    const { stdout, exitCode } = await run(folder, ".", "-o", "json");
    assert.equal(exitCode, 2);
    const { summary, resources } = JSON.parse(stdout) as {
      summary: object;
      resources: { name: string; errors?: object[] }[];
    };
    assert.deepEqual(summary, { total: 2, valid: 1, invalid: 1, missingSchemas: 0, warnings: 0, skippedRules: 1 });
    const message = 'spec.size: Unsupported value: "xl": supported values: "s", "m"';
    assert.deepEqual(
      resources.find(({ name }) => name === "shop"),
      {
        ...{ apiVersion: "acme.org/v1", kind: "App", name: "shop", status: "invalid" },
        errors: [
          {
            type: "schema",
            field: "spec.size",
            message,
            file: "app.yaml",
            line: 4,
            column: 8,
            level: "error",
            code: "V01",
          },
        ],
      },
    );
  });

  test("SARIF and GitHub annotations name the place", async () => {
    using folder = tempFolder({ "definition.yaml": definition, "app.yaml": app("{size: xl}") });
    const sarif = JSON.parse((await run(folder, ".", "-o", "sarif")).stdout) as {
      version: string;
      runs: { results: object[] }[];
    };
    assert.equal(sarif.version, "2.1.0");
    assert.match(JSON.stringify(sarif.runs[0]?.results), /"uri":"app\.yaml"},"region":{"startLine":4,"startColumn":8}/);
    const github = (await run(folder, ".", "-o", "github")).stdout;
    assert.match(github, /^::error file=app\.yaml,line=4,col=8,title=V01::App\/shop: spec\.size: Unsupported value/);
  });

  test("SARIF and GitHub annotations name a file that does not parse", async () => {
    using folder = tempFolder({ "definition.yaml": definition, "app.yaml": "kind: App\nspec: [1\n" });
    const failed = await run(folder, ".", "-o", "sarif");
    assert.equal(failed.exitCode, 2);
    const sarif = JSON.parse(failed.stdout) as {
      runs: { invocations: object[]; results: { message: { text: string }; locations: object[] }[] }[];
    };
    const [first] = sarif.runs;
    assert.deepEqual(first?.invocations, [{ executionSuccessful: false }]);
    assert.match(first.results[0]?.message.text ?? "", /^invalid YAML: /);
    assert.match(JSON.stringify(first.results[0]?.locations), /"uri":"app\.yaml"},"region":{"startLine":3/);
    const github = await run(folder, ".", "-o", "github");
    assert.deepEqual(
      [github.exitCode, github.stdout.match(/^::error file=app\.yaml,line=3,col=1::invalid YAML: /)?.index],
      [2, 0],
    );
  });

  test("SARIF and GitHub annotations say when there is nothing to validate", async () => {
    using folder = tempFolder({});
    const github = await run(folder, ".", "-o", "github");
    assert.deepEqual(
      [github.exitCode, github.stdout],
      [2, "::error::.: no files ending in .yaml or .yml found: check the path\n"],
    );
    assert.match((await run(folder, ".", "-o", "sarif")).stdout, /"message": \{\s+"text": "\.: no files ending/);
    assert.match(
      (await run(folder, ".", "-o", "yaml")).stdout,
      /^errors:\n- code: INVALID_INPUT\n {2}message: .*no files ending/,
    );
  });

  test("the help lists every check", () => {
    const help = readFileSync(join(import.meta.dirname, "../help/validate.md"), "utf8");
    for (const code of Object.keys(checks)) assert.match(help, new RegExp(`^\\| ${code} \\|`, "m"));
  });

  test("a package that is not in the cache is named; nothing is fetched", async () => {
    const fn =
      "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: f}\nspec: {package: registry.example.org/f:v1}\n";
    using folder = tempFolder({ "functions.yaml": fn });
    const { stdout, exitCode } = await run(folder, ".");
    assert.equal(exitCode, 0);
    assert.match(stdout, /warning: registry\.example\.org\/f:v1: not in the cache: run with --fetch-packages once/);
    assert.equal((await run(folder, ".", "--strict")).exitCode, 2);
  });

  test("a package file that is missing or is not one ends with 2, and is named", async () => {
    using folder = tempFolder({ "definition.yaml": definition, "x.xpkg": "not a package" });
    const missing = await run(folder, "nope.xpkg");
    assert.deepEqual(
      [missing.exitCode, missing.stderr],
      [2, "error: cannot read nope.xpkg: no such file: check the path\n"],
    );
    const wrong = await run(folder, "definition.yaml", "x.xpkg");
    assert.equal(wrong.exitCode, 2);
    assert.match(wrong.stderr, /^error: x\.xpkg is not a package file: .*\n$/);
  });

  test("a format that does not exist and a folder without manifests end with 2", async () => {
    using folder = tempFolder({ "a.txt": "" });
    assert.equal((await run(folder, ".", "-o", "xml")).exitCode, 2);
    assert.equal((await run(folder, ".")).exitCode, 2);
  });
});
