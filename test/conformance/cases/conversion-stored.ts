// SPDX-License-Identifier: Apache-2.0
// Conversion webhooks and what is stored: objects of several stored versions, webhooks that come, change and go, and what depends on them.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import { type Case, scenario } from "../harness/case.ts";
import { core, ownCrd, ownGroup, ownWidgets, withCrd } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";
import { everyWrite, respond, startWebhook, type WebhookServer, withWebhooks } from "../harness/webhook-server.ts";
import { answerTo, crdOf, object, startConverter, text, version } from "./conversion.ts";

const asTable = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
const asMetadata = { accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io" };

/** Writes a CRD again with another spec. Not part of the transcript. */
async function changeCrd(s: Session, change: (spec: Loose) => Loose): Promise<void> {
  for (;;) {
    const { body } = await s.get(ownCrd(s), { quiet: true });
    const { code, text: answered } = await s.put(ownCrd(s), { ...body, spec: change(body.spec) }, { quiet: true });
    if (code === 200) return;
    if (code !== 409) throw new Error(`cannot change the CRD: ${answered}`);
  }
}

const storedAs =
  (name: string) =>
  (spec: Loose): Loose => ({
    ...spec,
    versions: spec.versions.map((one: Loose) => ({ ...one, storage: one.name === name })),
  });

/**
 * Waits until objects are stored in v2. While they are stored in v1, the answer to a create through v2 needs a conversion back to v2; once they are stored in v2,
 * nothing converts them to it.
 */
async function untilStoredInV2(s: Session, hook: WebhookServer): Promise<void> {
  for (let index = 0; ; index += 1) {
    const name = `probe-${index}`;
    await s.post(ownWidgets(s, "", "v2"), object(s, name, { v: "v2", spec: {} }), { quiet: true });
    const isBack = ({ request }: Loose): boolean =>
      request.desiredAPIVersion.endsWith("/v2") && request.objects.some((one: Loose) => one.metadata.name === name);
    const found = hook.reviews.some(isBack);
    await s.delete(ownWidgets(s, name, "v2"), undefined, { quiet: true });
    if (!found) return;
  }
}

export const storedConversionCases: readonly Case[] = [
  scenario("objects stored in two versions with a conversion webhook", async (s) => {
    const hook = await startConverter(s);
    await withCrd(s, crdOf(s, hook));
    await s.post(ownWidgets(s), object(s, "a", { v: "v1", spec: { address: "a:1" } }));
    await s.post(ownWidgets(s), object(s, "b", { v: "v1", spec: { address: "b:2" } }));
    await changeCrd(s, storedAs("v2"));
    await untilStoredInV2(s, hook);
    await s.post(ownWidgets(s), object(s, "c", { v: "v1", spec: { address: "c:3" } }));
    await s.post(ownWidgets(s, "", "v2"), object(s, "d", { v: "v2", spec: { host: "d", port: "4" } }));
    await s.patch(ownWidgets(s, "b"), "merge", { metadata: { labels: { moved: "yes" } } });
    for (const v of ["v1", "v2"]) {
      await s.get(ownWidgets(s, "", v));
      await s.get(`${ownWidgets(s, "", v)}?resourceVersion=0`, { title: `old list of ${v}` });
      await s.get(`${ownWidgets(s, "", v)}?labelSelector=moved`);
      await s.get(`${ownWidgets(s, "", v)}?fieldSelector=metadata.name=c`);
      await s.get(ownWidgets(s, "", v), { headers: asTable, title: `table of ${v}` });
      await s.get(ownWidgets(s, "", v), { headers: asMetadata, title: `metadata of ${v}` });
      const { body } = await s.get(`${ownWidgets(s, "", v)}?limit=3`);
      await s.get(`${ownWidgets(s, "", v)}?limit=3&continue=${body.metadata.continue}`, { title: `the rest of ${v}` });
      for (const name of ["a", "b", "c", "d"]) await s.get(ownWidgets(s, name, v));
    }
    const patch = { metadata: { finalizers: ["example.org/kept"] } };
    await s.patch(ownWidgets(s, "a"), "merge", patch);
    await s.delete(ownWidgets(s, "a", "v2"));
    await s.patch(ownWidgets(s, "a", "v2"), "merge", { metadata: { finalizers: null } });
    await s.get(ownWidgets(s, "a"));
    await s.delete(`${ownWidgets(s, "", "v2")}?labelSelector=moved`);
    await s.delete(ownWidgets(s));
    await s.get(ownWidgets(s, "", "v2"));
    await s.delete(ownCrd(s), undefined, { quiet: true });
    await hook.stop();
  }),
  scenario("a conversion webhook that is removed and comes back", async (s) => {
    const hook = await startConverter(s);
    const crd = crdOf(s, hook);
    await withCrd(s, crd);
    await s.post(ownWidgets(s), object(s, "a", { v: "v1", spec: { address: "a:1" } }));
    await s.post(ownWidgets(s, "", "v2"), object(s, "b", { v: "v2", spec: { host: "b", port: "2" } }));
    await s.get(ownWidgets(s, "a", "v2"));
    await changeCrd(s, (spec) => ({ ...spec, conversion: { strategy: "None" } }));
    await s.until(ownWidgets(s, "a", "v2"), ({ body }) => body.spec?.host === undefined);
    for (const name of ["a", "b"]) for (const v of ["v1", "v2"]) await s.get(ownWidgets(s, name, v));
    await s.get(ownWidgets(s, "", "v2"));
    await s.patch(ownWidgets(s, "a", "v2"), "merge", { spec: { host: "without" } });
    await s.get(ownWidgets(s, "a"));
    await changeCrd(s, (spec) => ({ ...spec, conversion: crd.spec.conversion }));
    await s.until(ownWidgets(s, "b", "v2"), ({ body }) => body.spec?.host === "b");
    for (const name of ["a", "b"]) for (const v of ["v1", "v2"]) await s.get(ownWidgets(s, name, v));
    await s.delete(ownCrd(s), undefined, { quiet: true });
    await hook.stop();
  }),
  scenario("schemas of both sides of a conversion", async (s) => {
    const made: Readonly<Record<string, Loose>> = {
      nulls: { host: null, port: "1", kept: null },
      unknown: { host: "a", more: { deep: 1 }, nested: { other: 2, known: "x" } },
      types: { port: ["a"] },
      long: { host: "much too long", port: "1" },
      numbers: { count: 1.5 },
      free: { free: { any: { thing: [1, null, { a: null }] } } },
      embedded: { embedded: { apiVersion: "v1", kind: "Pod", metadata: { name: "a", nope: 1 }, extra: 1 } },
      text: { list: [{ key: "a" }, { key: "a" }] },
    };
    const hook = await startWebhook(s, (review) =>
      answerTo(review, (one) => {
        const spec = one.apiVersion.endsWith("/v2") ? made[one.metadata.name] : undefined;
        return spec === undefined ? one : { ...one, spec };
      }),
    );
    const known = { type: "object", properties: { known: { ...text, default: "d" } }, default: {} };
    const list = { type: "array", items: { type: "object", properties: { key: text }, required: ["key"] } };
    const v2 = {
      host: { ...text, maxLength: 5 },
      port: text,
      kept: text,
      count: { type: "integer" },
      nested: known,
      free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      embedded: {
        type: "object",
        "x-kubernetes-embedded-resource": true,
        properties: { metadata: { type: "object" } },
      },
      list: { ...list, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"] },
    };
    const crd = crdOf(s, hook);
    const more = { storage: true };
    const v1 = version("v1", { address: text, kept: { ...text, default: "yes" }, free: v2.free }, more);
    await withCrd(s, { ...crd, spec: { ...crd.spec, versions: [v1, version("v2", v2)] } });
    for (const name of Object.keys(made)) {
      await s.post(ownWidgets(s), object(s, name, { v: "v1", spec: { address: "a:1" } }), { quiet: true });
      await s.get(ownWidgets(s, name, "v2"));
      await s.patch(
        ownWidgets(s, name, "v2"),
        "merge",
        { metadata: { labels: { a: "b" } } },
        { title: `patch ${name}` },
      );
      await s.patch(ownWidgets(s, name, "v2"), "merge", { spec: { port: "9" } }, { title: `patch spec of ${name}` });
      await s.patch(
        `${ownWidgets(s, name, "v2")}?fieldManager=m`,
        "apply",
        object(s, name, { v: "v2", spec: { port: "8" } }),
        { title: `apply ${name}` },
      );
      await s.get(ownWidgets(s, name), { title: `stored ${name}` });
    }
    await s.get(ownWidgets(s, "", "v2"));
    await s.delete(ownCrd(s), undefined, { quiet: true });
    await hook.stop();
  }),
  scenario("conversion webhooks behind Services, and other ways not to reach them", async (s) => {
    const hook = await startConverter(s);
    const own = createAuthority({ commonName: "other" });
    const other = await startWebhook(s, (review) => answerTo(review), {
      authority: own,
      pair: issueCertificate(own, { commonName: "x", dnsNames: ["elsewhere"], ipAddresses: [], usages: ["server"] }),
    });
    const plain = createServer((_, response) => response.end("hello"));
    plain.listen(0, "127.0.0.1");
    await once(plain, "listening");
    const { port } = plain.address() as AddressInfo;
    s.mask(`127.0.0.1:${port}`, "<plain>");
    const service = { apiVersion: "v1", kind: "Service", spec: { type: "ExternalName", externalName: "localhost" } };
    // Another case may have made the first of them.
    await s.post("/api/v1/namespaces/default/services", { ...service, metadata: { name: "hook" } }, { quiet: true });
    await s.post(core(s, "services"), { ...service, metadata: { name: "misnamed" } }, { quiet: true });
    const at = (namespace: string, name: string): Loose => ({
      service: { namespace, name, path: "/convert", port: hook.port },
    });
    const targets: Readonly<Record<string, Loose>> = {
      "other authority": { url: `${hook.url}/convert`, caBundle: other.caBundle },
      "other name": { url: `${other.url}/convert`, caBundle: other.caBundle },
      "service with another name": at(s.namespace, "misnamed"),
      "plain HTTP": { url: `https://127.0.0.1:${port}/convert` },
      "no port": { service: { namespace: s.namespace, name: "nope" } },
      service: at("default", "hook"),
      gone: { service: { namespace: s.namespace, name: "gone" } },
      reached: { url: `${hook.url}/convert` },
    };
    await withCrd(s, crdOf(s, hook));
    await s.post(ownWidgets(s), object(s, "a", { v: "v1", spec: { address: "a:1" } }));
    for (const [name, target] of Object.entries(targets)) {
      const { body } = await s.get(ownWidgets(s, "a", "v2"), { quiet: true });
      const { conversion } = crdOf(s, hook, target).spec;
      await changeCrd(s, (spec) => ({ ...spec, conversion }));
      const before = JSON.stringify(body);
      await s.until(ownWidgets(s, "a", "v2"), (answer) => JSON.stringify(answer.body) !== before);
      await s.get(ownWidgets(s, "a", "v2"), { title: name });
      await s.patch(ownWidgets(s, "a", "v2"), "merge", { spec: { port: "5" } }, { title: `patch: ${name}` });
      await s.get(ownWidgets(s, "a"), { title: `stored: ${name}` });
    }
    await s.delete(ownCrd(s), undefined, { quiet: true });
    plain.close();
    await other.stop();
    await hook.stop();
  }),
  scenario("conversion webhooks with other codes and bodies", async (s) => {
    const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure" };
    const answers: Readonly<Record<string, Loose>> = {
      "status-403": {
        code: 403,
        raw: JSON.stringify({ ...status, message: "no entry", reason: "Forbidden", code: 403 }),
      },
      "status-409": { code: 409, raw: JSON.stringify({ ...status, message: "busy", reason: "Conflict", code: 409 }) },
      "status-in-200": { code: 200, raw: JSON.stringify({ ...status, message: "no entry", code: 403 }) },
      "text-401": { code: 401, raw: "who", headers: { "content-type": "text/plain" } },
      "text-429": { code: 429, raw: "slow down", headers: { "content-type": "text/plain" } },
      "retry-429": { code: 429, raw: "{}", headers: { "content-type": "application/json", "retry-after": "1" } },
      "text-503": { code: 503, raw: "down", headers: { "content-type": "text/plain" } },
      "code-201": { code: 201, raw: "{}" },
      "code-204": { code: 204, raw: "" },
      "half-yaml": { raw: "kind: [" },
      "kind-number": { raw: '{"kind":7,"apiVersion":"apiextensions.k8s.io/v1"}' },
      "version-number": { raw: '{"kind":"ConversionReview","apiVersion":7}' },
      bytes: { raw: "\u0000\u0001" },
      "options-in-200": { raw: '{"kind":"ListOptions","apiVersion":"v1"}' },
      "own-in-200": { raw: '{"kind":"ListOptions","apiVersion":"apiextensions.k8s.io/v1"}' },
      "crd-in-200": { raw: '{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1"}' },
      "result-text": {
        raw: '{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"result":"x"}}',
      },
      "result-message": {
        raw: '{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"result":{"message":7}}}',
      },
      empty: { raw: "" },
      redirect: { code: 302, raw: "", headers: { location: "/elsewhere" } },
      yaml: {
        raw: "kind: ConversionReview\napiVersion: apiextensions.k8s.io/v1\n",
        headers: { "content-type": "application/yaml" },
      },
      html: { raw: "<html></html>", headers: { "content-type": "text/html" } },
      null: { raw: "null" },
      number: { raw: "7" },
      trailing: { raw: "{} {}" },
      "response-list": { raw: '{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":[]}' },
      "uid-number": {
        raw: '{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":7}}',
      },
      "objects-text": {
        raw: '{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"convertedObjects":"x"}}',
      },
    };
    const inResponse: Readonly<Record<string, Loose>> = {
      "failed-detail": { result: { status: "Failure", message: "no", reason: "Forbidden", code: 403 } },
      "success-message": { result: { status: "Success", message: "fine" } },
      "status-other": { result: { status: "Other" } },
      "objects-null": { convertedObjects: null },
      "object-null": { convertedObjects: [null] },
      "object-text": { convertedObjects: ["a"] },
      "object-list": { convertedObjects: [{ apiVersion: `${ownGroup(s)}/v2`, kind: "WidgetList", items: [] }] },
      "object-empty": { convertedObjects: [{}] },
    };
    const hook = await startWebhook(s, (review) => {
      const { name } = review.request.objects[0].metadata;
      const made = answerTo(review);
      return answers[name] ?? { ...made, response: { ...made.response, ...inResponse[name] } };
    });
    await withCrd(s, crdOf(s, hook));
    for (const name of [...Object.keys(answers), ...Object.keys(inResponse)]) {
      await s.post(ownWidgets(s), object(s, name, { v: "v1", spec: { address: "a:1" } }), { quiet: true });
      await s.get(ownWidgets(s, name, "v2"), { compareHeaders: ["retry-after"] });
    }
    await s.delete(ownCrd(s), undefined, { quiet: true });
    await hook.stop();
  }),
  ...["Webhook", "None"].map((strategy) =>
    scenario(`conversion by ${strategy} of objects for admission`, async (s) => {
      const hook = await startConverter(s);
      const admission = await startWebhook(s, (review) =>
        respond(review, { allowed: review.request.name !== "denied" }),
      );
      const crd = crdOf(s, hook);
      const conversion = strategy === "None" ? { strategy } : crd.spec.conversion;
      await withCrd(s, { ...crd, spec: { ...crd.spec, conversion } });
      const rules = (apiVersions: readonly string[]): Loose => [
        { apiGroups: [ownGroup(s)], apiVersions, operations: ["*"], resources: ["*"] },
      ];
      const end = await withWebhooks(s, {
        kind: "ValidatingWebhookConfiguration",
        hook: admission,
        webhooks: [
          {
            ...everyWrite,
            name: "a.test.example.org",
            clientConfig: { url: `${admission.url}/a`, caBundle: admission.caBundle },
            rules: rules(["v1"]),
          },
          {
            ...everyWrite,
            name: "b.test.example.org",
            clientConfig: { url: `${admission.url}/b`, caBundle: admission.caBundle },
            rules: rules(["v1"]),
            matchPolicy: "Exact",
          },
        ],
      });
      const shown = (): void => {
        s.note(
          "reviews",
          admission.reviews.map(({ request: { uid: _, userInfo: __, ...request } }) => request),
        );
        admission.reviews.length = 0;
      };
      await s.post(ownWidgets(s, "", "v2"), object(s, "a", { v: "v2", spec: { host: "a", port: "1" } }));
      shown();
      await s.patch(ownWidgets(s, "a", "v2"), "merge", { spec: { port: "2" } });
      shown();
      await s.post(ownWidgets(s, "", "v2"), object(s, "denied", { v: "v2", spec: { host: "a", port: "1" } }));
      admission.reviews.length = 0;
      const failing = { labels: { case: "code-500" } };
      await s.post(ownWidgets(s, "", "v2"), object(s, "fails", { v: "v2", spec: {}, metadata: failing }));
      await s.delete(ownWidgets(s, "a", "v2"));
      shown();
      await end();
      await s.delete(ownCrd(s), undefined, { quiet: true });
      await admission.stop();
      await hook.stop();
    }),
  ),
  scenario("reads and writes beside an object that cannot be converted", async (s) => {
    const hook = await startWebhook(s, (review) => {
      const failing = review.request.objects.some((one: Loose) => one.metadata.labels?.broken);
      return failing ? { code: 500, raw: "{}" } : answerTo(review);
    });
    await withCrd(s, crdOf(s, hook));
    for (const name of ["a", "b", "c"]) {
      await s.post(ownWidgets(s), object(s, name, { v: "v1", spec: { address: "a:1" } }), { quiet: true });
    }
    const watch = await s.watch(`${ownWidgets(s, "", "v2")}?watch=true`);
    for (let index = 0; index < 3; index += 1) await watch.peek();
    await s.patch(ownWidgets(s, "b"), "merge", { metadata: { labels: { broken: "yes" } } });
    // The reference ends a watch of its cache without a word; ours says why first.
    for (let event = await watch.peek(); event !== undefined; event = await watch.peek()) {
      if (event.type !== "ERROR") s.note("event", event);
    }
    await s.get(ownWidgets(s, "a", "v2"));
    await s.patch(ownWidgets(s, "b", "v2"), "merge", { metadata: { labels: { broken: null } } });
    await s.patch(ownWidgets(s, "b", "v2"), "json", [{ op: "add", path: "/spec/port", value: "1" }]);
    await s.patch(`${ownWidgets(s, "b", "v2")}?fieldManager=m`, "apply", object(s, "b", { v: "v2", spec: {} }));
    await s.patch(`${ownWidgets(s, "n", "v2")}?fieldManager=m`, "apply", object(s, "n", { v: "v2", spec: {} }));
    await s.patch(ownWidgets(s, "b/status", "v2"), "merge", { status: { seen: "yes" } });
    await s.delete(`${ownWidgets(s, "b", "v2")}?dryRun=All`);
    await s.delete(ownWidgets(s, "b", "v2"));
    await s.get(ownWidgets(s));
    await s.patch(ownWidgets(s, "b"), "merge", { metadata: { labels: { broken: null } } });
    await s.until(ownWidgets(s, "", "v2"), ({ code }) => code === 200);
    await s.get(ownWidgets(s, "", "v2"));
    await s.delete(ownWidgets(s, "b", "v2"));
    await s.delete(ownCrd(s), undefined, { quiet: true });
    await hook.stop();
  }),
];
