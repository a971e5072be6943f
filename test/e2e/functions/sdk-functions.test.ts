// SPDX-License-Identifier: Apache-2.0
// Functions written with the public SDKs, one in Python and one in TypeScript, at work for claims: as development targets,
// and over mutual TLS as packages would serve them.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { tlsFromDirectory } from "@purlin/function-runner";
import type { KubeObject } from "@purlin/kube-objects/object";
import { pythonFunction, type Security, typescriptFunction } from "../../../tools/peers/function-commands.ts";
import { type FunctionCommand, type FunctionProcess, startFunction } from "../../../tools/peers/function-process.ts";
import { type CertificateFiles, createCertificateFiles } from "../../interop/certificate-files.ts";
import { conditionOf, eventually, functionAt, type Plane, startPlane } from "../harness/plane.ts";
import { rendersAsApplied } from "../harness/rendered.ts";
import { claimedDefinition, compositionOf, namespaceOf, type StepWish } from "./definitions.ts";

const group = "post.example.org";
const claimType = { apiVersion: `${group}/v1`, kind: "Postcard" };
const xrType = { apiVersion: `${group}/v1`, kind: "XPostcard" };
const configMap = { apiVersion: "v1", kind: "ConfigMap" };
const revisionType = { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" };
const namespace = "post";

const program = (name: string): string => join(import.meta.dirname, "programs", name);
const sdks: Readonly<Record<string, (security: Security) => FunctionCommand>> = {
  python: (security) => pythonFunction(program("postcard.py"), security),
  typescript: (security) => typescriptFunction(program("postcard.mjs"), security),
};

let directory: string;
let certificates: CertificateFiles;
let plane: Plane;
const running: FunctionProcess[] = [];

const newsOf = (sdk: string): string => join(directory, `news-of-${sdk}`);

async function serve(sdk: string, command: FunctionCommand): Promise<FunctionProcess> {
  writeFileSync(newsOf(sdk), "none");
  const started = await startFunction({ ...command, env: { POSTCARD_NEWS: newsOf(sdk) } });
  running.push(started);
  return started;
}

const stamp = { name: "stamp", source: "Secret", secretRef: { namespace: "system", name: "stamp" } };
const step = (name: string, functionName: string, more: object = {}): StepWish => ({
  step: name,
  functionRef: { name: functionName },
  input: { apiVersion: `${group}/v1`, kind: "Input", step: name },
  ...more,
});

/** What a package manager would publish of a function that answers. */
async function publish(name: string, { port }: FunctionProcess): Promise<void> {
  const labels = { "pkg.crossplane.io/package": name };
  const spec = { desiredState: "Active", image: `registry.example.org/${name}:v1`, revision: 1 };
  await plane.apply({ ...revisionType, metadata: { name: `${name}-1`, labels }, spec } as unknown as KubeObject);
  const found = await plane.get(revisionType, { name: `${name}-1` });
  const status = { endpoint: `localhost:${port}`, capabilities: ["composition"] };
  await plane.users.update({ ...found, status }, { subresource: "status" });
}

before(async () => {
  directory = mkdtempSync(join(tmpdir(), "e2e-postcards-"));
  certificates = createCertificateFiles();
  plane = await startPlane({ functions: {}, security: tlsFromDirectory(certificates.client) });
  const text = { type: "string" };
  const status = { trail: { type: "array", items: text }, news: text, dataType: text };
  const secret = { metadata: { namespace: "system", name: "stamp" }, data: { value: base64("airmail") } };
  await plane.apply(
    ...[namespace, "system"].map(namespaceOf),
    { apiVersion: "v1", kind: "Secret", ...secret },
    claimedDefinition({ kind: "Postcard", group, status }),
  );
  for (const [sdk, command] of Object.entries(sdks)) {
    const { port } = await serve(sdk, command({ insecure: true }));
    const pipeline = [step(sdk, sdk, { credentials: [stamp] })];
    await plane.apply(functionAt(sdk, `127.0.0.1:${port}`), compositionOf(sdk, xrType, pipeline));
  }
});
after(async () => {
  await plane?.[Symbol.asyncDispose]();
  for (const each of running) await each.stop();
  certificates?.[Symbol.dispose]();
  rmSync(directory, { recursive: true, force: true });
});

const base64 = (text: string): string => Buffer.from(text).toString("base64");

const postcard = (name: string, composition: string, text: string): KubeObject =>
  ({
    ...claimType,
    metadata: { namespace, name },
    spec: { recipient: `${name}-recipient`, text, compositionRef: { name: composition } },
  }) as KubeObject;

const recipient = (name: string): KubeObject =>
  ({ ...configMap, metadata: { namespace, name: `${name}-recipient` }, data: { address: "1 Main St" } }) as KubeObject;

const claimUntil = (name: string, what: string, isWanted: (claim: KubeObject) => boolean): Promise<KubeObject> =>
  plane.until(what, claimType, { namespace, name }, isWanted);

async function xrOf(claim: KubeObject): Promise<KubeObject> {
  const { resourceRef } = claim["spec"] as { readonly resourceRef: { readonly name: string } };
  return plane.get(xrType, { name: resourceRef.name });
}

async function cardOf(name: string): Promise<KubeObject> {
  const labelSelector = `crossplane.io/claim-name=${name}`;
  return eventually("there is a card", async () => {
    return (await plane.users.list(configMap, { namespace, labelSelector })).items[0];
  });
}

/** What the post office does. */
async function post(name: string): Promise<void> {
  const { metadata } = await cardOf(name);
  const key = { ...configMap, namespace, name: metadata.name ?? "" };
  await plane.users.patch(key, { metadata: { annotations: { "e2e.example.org/posted": "yes" } } }, { type: "merge" });
}

const says = (type: string, status: string) => (object: KubeObject) => conditionOf(object, type)?.status === status;
const statusOf = (object: KubeObject): Record<string, unknown> => (object["status"] ?? {}) as Record<string, unknown>;
const hasEvent = (object: KubeObject, text: string): Promise<boolean> =>
  eventually(
    `the event ${text}`,
    async () => (await plane.events(object)).includes(text),
    () => object.kind,
  );

/** What each SDK makes of an error that the author did not expect. */
const thrown: Readonly<Record<string, RegExp>> = {
  python: /step "python": cannot run Function "python": rpc error: code = Unknown desc = .*the ink is spilled/,
  typescript: /pipeline step "typescript" returned a fatal result: the ink is spilled$/,
};

for (const sdk of Object.keys(sdks)) {
  test(`${sdk}: a claim waits, is composed, is ready, follows the news, is refused, and recovers`, async () => {
    const name = `by-${sdk}`;
    await plane.apply(postcard(name, sdk, "hello"));
    const waiting = await claimUntil(name, "it names what is missing", says("Addressed", "False"));
    const unknown = {
      type: "Addressed",
      status: "False",
      reason: "Unknown",
      message: `Recipient ${name}-recipient not found.`,
    };
    assert.deepEqual(conditionOf(waiting, "Addressed"), unknown);
    assert.equal(conditionOf(waiting, "Ready")?.status, "False", "the function said so, though nothing is composed");
    const xr = await xrOf(waiting);
    await hasEvent(waiting, `Warning NoRecipient: there is no ConfigMap ${name}-recipient`);
    await hasEvent(xr, `Warning NoRecipient: Pipeline step "${sdk}": there is no ConfigMap ${name}-recipient`);

    await plane.apply(recipient(name));
    const unready = await plane.until(
      "it is composed",
      xrType,
      { name: xr.metadata.name ?? "" },
      says("Addressed", "True"),
    );
    assert.equal(conditionOf(unready, "Ready")?.message, "Unready resources: card");
    assert.deepEqual((await cardOf(name))["data"], { text: "hello", to: "1 Main St", stamp: "airmail" });
    const wrote = `Normal ComposeResources: Pipeline step "${sdk}": wrote a card to 1 Main St`;
    await hasEvent(unready, wrote);
    assert.ok(
      !(await plane.events(waiting)).some((text) => text.includes("wrote a card")),
      "that was for the XR alone",
    );

    await post(name);
    const ready = await claimUntil(name, "it is ready", says("Ready", "True"));
    const { trail, news, dataType } = statusOf(ready);
    assert.deepEqual({ trail, news, dataType }, { trail: [sdk], news: "none", dataType: "object" });

    writeFileSync(newsOf(sdk), "spring has come");
    await claimUntil(name, "it follows the news without a change of the claim", (claim) => {
      return statusOf(claim)["news"] === "spring has come";
    });

    const given = { required: [configMap], schemas: ["api/v1"] };
    await rendersAsApplied(plane.users, xrType, { name: xr.metadata.name ?? "" }, given);

    await plane.apply(postcard(name, sdk, ""));
    const refused = await claimUntil(name, "it is refused", says("Written", "False"));
    assert.equal(conditionOf(refused, "Written")?.message, "Write something.");
    assert.equal(conditionOf(refused, "Addressed")?.reason, "FatalError");
    const message = `cannot compose resources: pipeline step "${sdk}" returned a fatal result: a postcard needs a text`;
    assert.equal(conditionOf(await xrOf(refused), "Synced")?.message, message);
    await hasEvent(refused, "Warning NoText: a postcard needs a text");
    await hasEvent(await xrOf(refused), `Warning NoText: ${message}`);
    assert.deepEqual((await cardOf(name))["data"], { text: "hello", to: "1 Main St", stamp: "airmail" });

    await plane.apply(postcard(name, sdk, "spill"));
    const { name: xrName = "" } = xr.metadata;
    const spilled = await plane.until("the function threw", xrType, { name: xrName }, (one) =>
      Boolean(conditionOf(one, "Synced")?.message?.includes("the ink is spilled")),
    );
    assert.match(conditionOf(spilled, "Synced")?.message ?? "", thrown[sdk] ?? /never/);

    await plane.apply(postcard(name, sdk, "hello again"));
    await claimUntil(name, "it is fine again", says("Addressed", "True"));
    assert.equal(((await cardOf(name))["data"] as { readonly text: string }).text, "hello again");
  });
}

test("both in one pipeline, over mutual TLS: the second sees what the first said", async () => {
  for (const [sdk, command] of Object.entries(sdks)) {
    await publish(`${sdk}-tls`, await serve(sdk, command({ certsDir: certificates.server })));
  }
  const pipeline = Object.keys(sdks).map((sdk) => step(`${sdk}-step`, `${sdk}-tls`, { credentials: [stamp] }));
  await plane.apply(compositionOf("both", xrType, pipeline), recipient("shared"), postcard("shared", "both", "hi"));
  await post("shared");
  const ready = await claimUntil("shared", "it is ready", says("Ready", "True"));
  assert.deepEqual(statusOf(ready)["trail"], ["python-step", "typescript-step"]);
  const access = { certificates: certificates.client };
  const { name = "" } = (await xrOf(ready)).metadata;
  await rendersAsApplied(plane.users, xrType, { name }, { required: [configMap], schemas: ["api/v1"], access });
});
