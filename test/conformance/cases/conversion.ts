// SPDX-License-Identifier: Apache-2.0
// Conversion webhooks of CRDs: their requests, the changes that they may make, and the effect of failures.
import { setTimeout as delay } from "node:timers/promises";
import { type Case, scenario } from "../harness/case.ts";
import { crds, ownCrd, ownGroup, ownWidgets, withCrd } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";
import { smallCrd } from "../harness/small-crd.ts";
import { startWebhook, type WebhookServer } from "../harness/webhook-server.ts";

export const text: Loose = { type: "string" };

export function version(name: string, fields: Loose, more: Loose = {}): Loose {
  const status = { type: "object", properties: { seen: text } };
  const properties = { spec: { type: "object", properties: fields }, status };
  return {
    name,
    served: true,
    storage: false,
    schema: { openAPIV3Schema: { type: "object", properties } },
    subresources: { status: {} },
    ...more,
  };
}

/** Two versions: an address in one field, and in two. */
export function crdOf(s: Session, hook: WebhookServer, clientConfig: Loose = { url: `${hook.url}/convert` }): Loose {
  return smallCrd(
    s,
    {},
    {
      versions: [
        version("v1", { address: text, kept: { ...text, default: "yes" } }, { storage: true }),
        version("v2", { host: text, port: text, kept: text, late: { ...text, default: "x" } }),
      ],
      conversion: {
        strategy: "Webhook",
        webhook: {
          clientConfig: { caBundle: hook.caBundle, ...clientConfig },
          conversionReviewVersions: ["v1"],
        },
      },
    },
  );
}

/** An object in another version. */
function converted(object: Loose, apiVersion: string): Loose {
  const { address, host, port, ...spec } = object.spec ?? {};
  const [first, second] = (address ?? "").split(":");
  const next = apiVersion.endsWith("/v2")
    ? { ...spec, ...(address && { host: first, port: second }), unknown: "field" }
    : { ...spec, ...(host && { address: `${host}:${port}` }) };
  return { ...object, apiVersion, spec: next };
}

const succeeded = { status: "Success" };

export function answerTo(review: Loose, change: (object: Loose) => Loose = (object) => object): Loose {
  const { uid, desiredAPIVersion, objects } = review.request;
  const convertedObjects = objects.map((object: Loose) => change(converted(object, desiredAPIVersion)));
  return {
    apiVersion: review.apiVersion,
    kind: "ConversionReview",
    response: { uid, convertedObjects, result: succeeded },
  };
}

const withResponse = (review: Loose, response: Loose): Loose => ({
  ...answerTo(review),
  response: { ...answerTo(review).response, ...response },
});

const changed =
  (change: (object: Loose) => Loose) =>
  (review: Loose): Loose =>
    answerTo(review, change);

const inMetadata = (more: Loose) => changed((object) => ({ ...object, metadata: { ...object.metadata, ...more } }));

/** What the webhook does with an object, by the label `case`. */
const answers: Readonly<Record<string, (review: Loose) => Loose>> = {
  "code-500": () => ({ code: 500, raw: "{}" }),
  "code-404": () => ({ code: 404, raw: "{}" }),
  text: () => ({ raw: "hello" }),
  "half-json": () => ({ raw: '{"apiVersion":' }),
  list: () => ({ raw: "[]" }),
  failed: (review) => withResponse(review, { result: { status: "Failure", message: "not today" } }),
  silent: (review) => withResponse(review, { result: { status: "Failure" } }),
  "no-result": (review) => withResponse(review, { result: undefined }),
  uid: (review) => withResponse(review, { uid: "q" }),
  "no-response": (review) => ({ apiVersion: review.apiVersion, kind: "ConversionReview" }),
  "other-kind": () => ({ apiVersion: "v1", kind: "Pod" }),
  beta: (review) => ({ ...answerTo(review), apiVersion: "apiextensions.k8s.io/v1beta1" }),
  fewer: (review) => withResponse(review, { convertedObjects: [] }),
  more: (review) => withResponse(review, { convertedObjects: [{}, {}] }),
  name: inMetadata({ name: "zz" }),
  namespace: inMetadata({ namespace: "default" }),
  "other-uid": inMetadata({ uid: "11111111-1111-1111-1111-111111111111" }),
  kind: changed((object) => ({ ...object, kind: "Zed" })),
  "no-kind": changed(({ kind: _, ...object }) => object),
  version: changed((object) => ({ ...object, apiVersion: "other.example.org/v7" })),
  "no-metadata": changed(({ metadata: _, ...object }) => object),
  labels: inMetadata({ labels: { "bad key": "x" } }),
  "label-value": inMetadata({ labels: { a: "not valid!" } }),
  "label-type": inMetadata({ labels: { a: 7 } }),
  annotations: inMetadata({ annotations: { "bad key": "x" } }),
  allowed: inMetadata({
    labels: { case: "allowed", added: "yes" },
    annotations: { added: "yes" },
    finalizers: ["example.org/added"],
    generation: 77,
    ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "y" }],
  }),
};

export async function startConverter(s: Session): Promise<WebhookServer> {
  return startWebhook(s, (review) => {
    const [first] = review.request.objects;
    return (answers[first?.metadata?.labels?.case] ?? answerTo)(review);
  });
}

export const object = (
  s: Session,
  name: string,
  { v, ...more }: { v: string; spec: Loose; metadata?: Loose },
): Loose => ({
  apiVersion: `${ownGroup(s)}/${v}`,
  kind: "Widget",
  ...more,
  metadata: { name, ...more.metadata },
});

/** What a review says, without what differs between servers. */
function shown({ request, ...review }: Loose): Loose {
  return { ...review, request: { ...request, uid: "" } };
}

export const conversionCases: readonly Case[] = [
  scenario("conversion webhook", async (s) => {
    const hook = await startConverter(s);
    await withCrd(s, crdOf(s, hook));
    const { body: made } = await s.post(ownWidgets(s), object(s, "a", { v: "v1", spec: { address: "a:1" } }));
    // The cache of the reference for v2 converts each object once, when it sees it: this list waits until it has seen this one.
    const since = `resourceVersion=${made.metadata.resourceVersion}&resourceVersionMatch=NotOlderThan`;
    await s.get(`${ownWidgets(s, "", "v2")}?${since}`, { quiet: true });
    hook.reviews.length = 0;
    await s.get(ownWidgets(s, "a"));
    s.note("calls for the stored version", hook.reviews.length);
    await s.get(ownWidgets(s, "a", "v2"));
    s.note("review", hook.reviews.map(shown));
    s.note("path", hook.called.at(-1));
    await s.post(ownWidgets(s, "", "v2"), object(s, "b", { v: "v2", spec: { host: "b", port: "2" } }));
    for (const v of ["v1", "v2"]) {
      await s.get(ownWidgets(s, "b", v));
      await s.get(ownWidgets(s, "", v));
      await s.get(ownWidgets(s, "", v), {
        headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
        title: `table of ${v}`,
      });
    }
    await s.post(`${ownWidgets(s, "", "v2")}?dryRun=All`, object(s, "c", { v: "v2", spec: { host: "c" } }));
    await s.patch(ownWidgets(s, "a", "v2"), "merge", { spec: { port: "77" } });
    await s.patch(ownWidgets(s, "a", "v2"), "merge", {}, { title: "empty patch" });
    await s.patch(`${ownWidgets(s, "a", "v2")}?dryRun=All`, "merge", { spec: { host: "dry" } }, { title: "dry run" });
    await s.patch(ownWidgets(s, "a", "v2"), "json", [{ op: "replace", path: "/spec/host", value: "other" }]);
    await s.patch(ownWidgets(s, "a/status", "v2"), "merge", { status: { seen: "yes" } });
    const { body } = await s.get(ownWidgets(s, "a", "v2"));
    await s.put(ownWidgets(s, "a", "v2"), { ...body, spec: { host: "put", port: "3" } });
    await s.get(ownWidgets(s, "a"));
    await s.get(`${ownWidgets(s, "", "v2")}?labelSelector=none`);
    await s.get(`${ownWidgets(s, "", "v2")}?fieldSelector=metadata.name=a`);
    await s.delete(ownWidgets(s, "a", "v2"));
    await s.delete(ownWidgets(s, "", "v2"));
    await s.get(ownWidgets(s, "", "v2"));
    await s.delete(ownCrd(s), undefined, { quiet: true });
    await hook.stop();
  }),
  scenario("owners of fields in several versions with a conversion webhook", async (s) => {
    const hook = await startConverter(s);
    await withCrd(s, crdOf(s, hook));
    const apply = (v: string, manager: string, spec: Loose, more = ""): Promise<unknown> =>
      s.patch(`${ownWidgets(s, "a", v)}?fieldManager=${manager}${more}`, "apply", object(s, "a", { v, spec }), {
        title: `apply ${v} as ${manager}${more}`,
      });
    await apply("v2", "two", { host: "h", port: "1" });
    await apply("v1", "one", { kept: "no" });
    await apply("v1", "one", { address: "other:2", kept: "no" });
    await apply("v1", "one", { address: "other:2", kept: "no" }, "&force=true");
    await apply("v2", "two", { host: "h" });
    await apply("v2", "two", { late: "z" });
    await s.patch(`${ownWidgets(s, "a")}?fieldManager=three`, "merge", { spec: { kept: "never" } });
    await s.get(ownWidgets(s, "a", "v2"));
    await s.get(ownWidgets(s, "a"));
    await s.delete(ownCrd(s), undefined, { quiet: true });
    await hook.stop();
  }),
  scenario("watches with a conversion webhook", async (s) => {
    const hook = await startConverter(s);
    await withCrd(s, crdOf(s, hook));
    await s.post(ownWidgets(s), object(s, "a", { v: "v1", spec: { address: "a:1" } }));
    await s.until(ownWidgets(s, "", "v2"), ({ body }) => body.items?.length === 1);
    const watch = await s.watch(`${ownWidgets(s, "", "v2")}?watch=true`);
    await watch.next();
    await s.post(ownWidgets(s), object(s, "b", { v: "v1", spec: { address: "b:2" } }));
    await watch.next();
    await s.patch(ownWidgets(s, "b"), "merge", { spec: { address: "b:3" } });
    await watch.next();
    await s.delete(ownWidgets(s, "b"));
    await watch.next();
    watch.close();
    await s.delete(ownCrd(s), undefined, { quiet: true });
    await hook.stop();
  }),
  scenario("conversion webhooks that fail and break the protocol", async (s) => {
    const hook = await startConverter(s);
    await withCrd(s, crdOf(s, hook));
    for (const name of Object.keys(answers)) {
      const metadata = { labels: { case: name } };
      await s.post(ownWidgets(s), object(s, name, { v: "v1", spec: { address: "a:1" }, metadata }), { quiet: true });
      await s.get(ownWidgets(s, name, "v2"));
    }
    const metadata = { labels: { case: "code-500" } };
    await s.post(ownWidgets(s, "", "v2"), object(s, "new", { v: "v2", spec: {}, metadata }));
    await s.get(ownWidgets(s, "new"));
    await s.put(ownWidgets(s, "uid", "v2"), object(s, "uid", { v: "v2", spec: {} }), {
      part: ({ code, message }) => ({ code, message }),
    });
    await s.delete(ownWidgets(s, "failed", "v2"));
    await s.delete(ownWidgets(s, "failed"));
    await s.delete(ownCrd(s), undefined, { quiet: true });
    await hook.stop();
  }),
  scenario("conversion webhooks that cannot be reached", async (s) => {
    const hook = await startConverter(s);
    const targets: Readonly<Record<string, Loose>> = {
      refused: { url: "https://127.0.0.1:1/x" },
      "unknown-authority": { url: `${hook.url}/convert`, caBundle: undefined },
      "no-service": { service: { namespace: "default", name: "nope", path: "/x" } },
    };
    await withCrd(s, crdOf(s, hook, targets["refused"]));
    await s.post(ownWidgets(s), object(s, "a", { v: "v1", spec: { address: "a:1" } }));
    for (const [name, target] of Object.entries(targets)) {
      const { body } = await s.get(ownCrd(s), { quiet: true });
      const spec = { ...body.spec, conversion: crdOf(s, hook, target).spec.conversion };
      await s.put(ownCrd(s), { ...body, spec }, { quiet: true });
      const wanted = { "no-service": "not found", "unknown-authority": "unknown authority" }[name] ?? "refused";
      await s.until(ownWidgets(s, "a", "v2"), ({ text: answered }) => answered.includes(wanted));
      await s.get(ownWidgets(s, "a", "v2"), { title: name });
    }
    await s.delete(ownWidgets(s, "a"));
    await s.delete(ownCrd(s), undefined, { quiet: true });
    await hook.stop();
  }),
  scenario("definitions with conversion webhooks", async (s) => {
    const hook = await startConverter(s);
    const crd = crdOf(s, hook);
    const converting = (webhook: Loose, strategy = "Webhook"): Loose => ({
      ...crd,
      spec: { ...crd.spec, conversion: { strategy, webhook: { ...crd.spec.conversion.webhook, ...webhook } } },
    });
    const post = (title: string, body: Loose): Promise<unknown> => s.post(`${crds}?dryRun=All`, body, { title });
    await post("junk", converting({ clientConfig: { url: hook.url, caBundle: "anVuaw==" } }));
    await post("blank", converting({ clientConfig: { url: hook.url, caBundle: "IA==" } }));
    await post("unknown review version", converting({ conversionReviewVersions: ["v7"] }));
    await post("strategy None", converting({}, "None"));
    await post("no target", converting({ clientConfig: {} }));
    await post("accepted", crd);
    await withCrd(s, crd);
    await s.post(ownWidgets(s), object(s, "a", { v: "v1", spec: { address: "a:1" } }), { quiet: true });
    const { body } = await s.get(ownCrd(s), { quiet: true });
    const storedIn = (name: string, served: readonly string[] = ["v1", "v2"]): Loose => ({
      ...body,
      metadata: { name: body.metadata.name },
      spec: {
        ...body.spec,
        versions: body.spec.versions
          .filter((one: Loose) => served.includes(one.name))
          .map((one: Loose) => ({ ...one, storage: one.name === name })),
      },
    });
    const put = async (next: Loose, title: string): Promise<void> => {
      const { body: current } = await s.get(ownCrd(s), { quiet: true });
      const { resourceVersion } = current.metadata;
      await s.put(
        ownCrd(s),
        { ...next, metadata: { ...next.metadata, resourceVersion } },
        {
          title,
          part: ({ spec, status, message, code }) => ({ versions: spec?.versions, status, message, code }),
        },
      );
    };
    await put(storedIn("v2"), "store v2");
    await s.until(ownCrd(s), ({ body: now }) => now.status.storedVersions.length === 2);
    await put(storedIn("v2", ["v2"]), "drop v1 too early");
    // The reference writes in the new version once its handlers know it.
    await delay(1000);
    await s.patch(ownWidgets(s, "a", "v2"), "merge", {}, { title: "empty patch" });
    await s.patch(`${ownCrd(s)}/status`, "merge", { status: { storedVersions: ["v2"] } }, { quiet: true });
    await put(storedIn("v2", ["v2"]), "drop v1");
    await s.until(ownWidgets(s), ({ code }) => code === 404);
    await s.get(ownWidgets(s, "a", "v2"));
    await s.delete(ownCrd(s), undefined, { quiet: true });
    await hook.stop();
  }),
];
