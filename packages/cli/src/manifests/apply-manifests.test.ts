// SPDX-License-Identifier: Apache-2.0
// The outcome of each manifest that is applied, and what is reported in the end. The API server is one of a few lines.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type KubeClient, NoMatchError } from "@purlin/kube-client";
import { forbidden, invalid, notFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import { ApplyError, type ApplyManifestsOptions, appliedLine, applyManifests } from "./apply-manifests.ts";
import type { Manifest } from "./manifest.ts";

const object = (apiVersion: string, kind: string, name = "a", more: JsonObject = {}): KubeObject => ({
  ...{ apiVersion, kind, metadata: { name }, ...more },
});
const manifest = (one: KubeObject, file = "files.yaml"): Manifest => ({
  object: one,
  file,
  at: (path = []) => `${file}:1:1${path.length === 0 ? "" : ` ${path.join(".")}`}`,
});
const configMap = (name: string, data: JsonObject = {}): KubeObject => object("v1", "ConfigMap", name, { data });
const xrd = (name: string, conditions: JsonObject[] = []): KubeObject => ({
  ...object("apiextensions.crossplane.io/v2", "CompositeResourceDefinition", `${name.toLowerCase()}s.example.org`),
  spec: {
    ...{ group: "example.org", scope: "Namespaced", names: { kind: name, plural: `${name.toLowerCase()}s` } },
    versions: [{ name: "v1", served: true, referenceable: true, schema: { openAPIV3Schema: { type: "object" } } }],
  },
  status: { conditions },
});
const condition = (type: string, status: string, message = ""): JsonObject => ({ type, status, reason: "R", message });

interface Server {
  /** Kinds that are served; whether they are in namespaces. */
  readonly kinds: Record<string, boolean>;
  readonly objects: Map<string, KubeObject>;
  readonly applied: string[];
  readonly definitions: KubeObject[];
  readonly refuse?: (one: KubeObject) => Error | undefined;
}

const keyText = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;

function serverOf(more: Partial<Server> = {}): Server {
  const packages = { Provider: false, Configuration: false };
  const kinds = { ConfigMap: true, Namespace: false, CompositeResourceDefinition: false, ...packages };
  return { kinds, objects: new Map(), applied: [], definitions: [], ...more };
}

/** A client of a server that stores what is applied, and changes its version only when it differs. */
function clientOf(server: Server): KubeClient {
  const mapping = async (type: TypeRef): Promise<object> => {
    const namespaced = server.kinds[type.kind];
    if (namespaced === undefined) throw new NoMatchError(type);
    return { namespaced };
  };
  const client = {
    mapper: { forget: () => void server.applied.push("forget"), mapping },
    async get({ kind }: TypeRef, { namespace, name }: { readonly namespace?: string; readonly name: string }) {
      const found = server.objects.get(`${kind} ${namespace ?? ""}/${name}`);
      if (found === undefined) throw notFound({ group: "", resource: kind }, name);
      return found;
    },
    async apply(one: KubeObject, options: object): Promise<KubeObject> {
      const problem = server.refuse?.(one);
      if (problem !== undefined) throw problem;
      server.applied.push(`${keyText(one)} ${JSON.stringify(options)}`);
      const before = server.objects.get(keyText(one));
      const { metadata, ...content } = one;
      const isSame = before !== undefined && JSON.stringify(before["content"]) === JSON.stringify(content);
      const resourceVersion = isSame ? before.metadata.resourceVersion : String(server.applied.length);
      const stored = { ...one, metadata: { ...metadata, resourceVersion }, content } as KubeObject;
      server.objects.set(keyText(one), stored);
      return stored;
    },
    list: async () => ({ items: server.definitions }),
  };
  return client as Partial<Record<keyof KubeClient, unknown>> as KubeClient;
}

const signal = AbortSignal.timeout(60_000);

async function applying(server: Server, objects: readonly KubeObject[], more: Partial<ApplyManifestsOptions> = {}) {
  const lines: string[] = [];
  const onApplied: ApplyManifestsOptions["onApplied"] = (one, change) => void lines.push(appliedLine(one, change));
  const onWait: ApplyManifestsOptions["onWait"] = (one, definition) =>
    void lines.push(`${one.object.kind} waits for ${definition}`);
  const done = applyManifests(
    clientOf(server),
    objects.map((one) => manifest(one)),
    { waitMs: 0, signal, onApplied, onWait, ...more },
  );
  const error = await done.then(
    () => undefined,
    (problem: unknown) => problem as ApplyError,
  );
  return { lines, error };
}

describe("an object that is applied", () => {
  test("is created, configured when it differs, and unchanged when it does not", async () => {
    const server = serverOf();
    assert.deepEqual((await applying(server, [configMap("a", { x: "1" })])).lines, ["ConfigMap a created"]);
    assert.deepEqual((await applying(server, [configMap("a", { x: "1" })])).lines, ["ConfigMap a unchanged"]);
    assert.deepEqual((await applying(server, [configMap("a", { x: "2" })])).lines, ["ConfigMap a configured"]);
  });

  test("gets a namespace where its kind has some and it names none", async () => {
    const server = serverOf();
    const named = { ...configMap("b"), metadata: { name: "b", namespace: "own" } };
    await applying(server, [configMap("a"), named, object("v1", "Namespace", "n")]);
    await applying(server, [configMap("c")], { namespace: "team" });
    assert.deepEqual(
      [...server.objects.keys()],
      ["Namespace /n", "ConfigMap default/a", "ConfigMap own/b", "ConfigMap team/c"],
    );
  });

  test("is owned by this command, and the file wins over others", async () => {
    const server = serverOf();
    await applying(server, [configMap("a")]);
    const [first, line = ""] = server.applied;
    assert.equal(first, "forget", "a kind may have been defined again since the last time");
    const { fieldManager, force, fieldValidation } = JSON.parse(line.slice(line.indexOf("{"))) as Record<
      string,
      unknown
    >;
    assert.deepEqual([fieldManager, force, fieldValidation], ["purlin-apply", true, "Strict"]);
  });
});

describe("an object that is refused", () => {
  test("keeps none of the others from being applied; all problems are one error", async () => {
    const refuse = ({ metadata }: KubeObject): Error | undefined =>
      metadata.name?.startsWith("bad")
        ? forbidden({ group: "", resource: "configmaps" }, metadata.name, "not allowed")
        : undefined;
    const server = serverOf({ refuse });
    const { lines, error } = await applying(server, [configMap("bad-1"), configMap("a"), configMap("bad-2")]);
    assert.deepEqual(lines, ["ConfigMap a created"]);
    assert.ok(error instanceof ApplyError);
    assert.equal(error.problems.length, 2);
    assert.match(error.problems[0] ?? "", /^files\.yaml:1:1: ConfigMap bad-1: .*not allowed/);
    assert.equal(error.message, error.problems.join("; "));
    assert.equal(error.name, "ApplyError");
  });

  test("exits with 2 where the objects are wrong, and with 1 where anything else is", async () => {
    const wrong = invalid({ group: "", kind: "ConfigMap" }, "a", []);
    const denied = forbidden({ group: "", resource: "configmaps" }, "a", "no");
    const exitCode = async (...errors: readonly Error[]): Promise<number | undefined> => {
      const left = [...errors];
      const server = serverOf({ refuse: () => left.shift() });
      return (
        await applying(
          server,
          errors.map((_, index) => configMap(`a${index}`)),
        )
      ).error?.exitCode;
    };
    assert.equal(await exitCode(wrong), 2);
    assert.equal(await exitCode(denied), 1);
    assert.equal(await exitCode(wrong, denied), 1);
    assert.equal(await exitCode(new Error("connection refused")), 1);
  });

  test("an interrupted command ends with the reason, not with problems", async () => {
    const stopped = AbortSignal.abort(new Error("stopped by SIGINT"));
    const { error } = await applying(serverOf(), [configMap("a")], { signal: stopped });
    assert.equal(error?.message, "stopped by SIGINT");
    assert.ok(!(error instanceof ApplyError));
  });
});

describe("a kind that is not served", () => {
  const app = object("example.org/v1", "App", "shop");

  test("and that nothing defines is an error of the files", async () => {
    const { error } = await applying(serverOf(), [app]);
    assert.equal(
      error?.message,
      'files.yaml:1:1: App shop: no matches for kind "App" in version "example.org/v1": check the spelling, or apply the definition of the kind too',
    );
    assert.equal(error?.exitCode, 2);
  });

  test("a kind is waited for while its definition reports no error, and then the reason is shown", async () => {
    const definition = xrd("App", [condition("Established", "False", "not yet")]);
    const { lines, error } = await applying(serverOf({ definitions: [definition] }), [app], { waitMs: 20 });
    assert.deepEqual(lines, ["App waits for CompositeResourceDefinition apps.example.org"]);
    assert.equal(
      error?.message,
      "files.yaml:1:1: App shop: CompositeResourceDefinition apps.example.org does not offer it: R: not yet",
    );
    assert.equal(error?.exitCode, 1, "it may be served later");
  });

  test("is not waited for where its definition has failed", async () => {
    const definition = xrd("App", [condition("Synced", "False", "invalid schema")]);
    const { lines, error } = await applying(serverOf({ definitions: [definition] }), [app], { waitMs: 60_000 });
    assert.deepEqual(lines, []);
    assert.match(error?.message ?? "", /does not offer it: invalid schema$/);
    assert.equal(error?.exitCode, 2);
  });

  test("is applied as soon as it is served", async () => {
    const server = serverOf({ definitions: [xrd("App")] });
    const onWait = (): void => {
      server.kinds["App"] = true;
    };
    const { lines, error } = await applying(server, [app], { waitMs: 60_000, onWait });
    assert.deepEqual([lines, error], [["App shop created"], undefined]);
    assert.ok(server.objects.has("App default/shop"));
  });

  test("waits for the packages among the manifests, and names the one that is late", async () => {
    const provider = object("pkg.crossplane.io/v1", "Provider", "p");
    const { lines, error } = await applying(serverOf(), [app, provider]);
    assert.deepEqual(lines, ["Provider p created"]);
    assert.equal(
      error?.message,
      'files.yaml:1:1: App shop: no matches for kind "App" in version "example.org/v1": Provider "p" is not installed: not reconciled yet',
    );
    assert.equal(error?.exitCode, 1);
  });

  test("is applied when a package brings it", async () => {
    const server = serverOf();
    let looks = 0;
    Object.defineProperty(server.kinds, "App", { get: () => (looks++ === 0 ? undefined : true) });
    const { lines, error } = await applying(server, [app, object("pkg.crossplane.io/v1", "Configuration", "p")]);
    assert.deepEqual([lines, error], [["Configuration p created", "App shop created"], undefined]);
  });

  test("that a healthy package does not bring is an error of the files", async () => {
    const healthy = ["Installed", "Healthy"].map((type) => condition(type, "True"));
    const provider = object("pkg.crossplane.io/v1", "Provider", "p", { status: { conditions: healthy } });
    const { error } = await applying(serverOf(), [provider, app]);
    assert.match(error?.message ?? "", /check the spelling, or apply the definition of the kind too$/);
    assert.equal(error?.exitCode, 2);
  });
});

describe("a definition that is applied", () => {
  const established = [condition("Established", "True")];

  test("is waited for until it is served", async () => {
    const { lines, error } = await applying(serverOf(), [xrd("App", established)]);
    assert.deepEqual([lines, error], [["CompositeResourceDefinition apps.example.org created"], undefined]);
  });

  test("and is not served in time, or fails, is a problem with its place", async () => {
    const late = await applying(serverOf(), [xrd("App")], { waitMs: 20 });
    assert.equal(
      late.error?.message,
      "files.yaml:1:1: CompositeResourceDefinition apps.example.org: does not offer its kind after 0.02s: no control plane has reconciled it",
    );
    assert.equal(late.error?.exitCode, 1);
    const text = "cannot apply CRD: spec.versions[0].schema.openAPIV3Schema: Required value";
    const failed = await applying(serverOf(), [xrd("App", [condition("Synced", "False", text)])]);
    assert.equal(
      failed.error?.message,
      `files.yaml:1:1 spec.versions.0.schema.openAPIV3Schema: CompositeResourceDefinition apps.example.org: ${text}`,
    );
    assert.equal(failed.error?.exitCode, 2);
  });

  test("with a mistake is not applied", async () => {
    const server = serverOf();
    const schema = { openAPIV3Schema: { type: "object", propertes: {} } };
    const broken = { ...xrd("App"), spec: { group: "example.org", versions: [{ name: "v1", schema }] } };
    const { lines, error } = await applying(server, [broken, configMap("a")]);
    assert.deepEqual(lines, ["ConfigMap a created"]);
    assert.equal(error?.exitCode, 2);
    assert.equal(
      error?.message,
      "files.yaml:1:1 spec.versions.0.schema.openAPIV3Schema.propertes: spec.versions[0].schema.openAPIV3Schema.propertes: unknown schema keyword: did you mean properties?",
    );
  });
});
