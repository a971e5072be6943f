// SPDX-License-Identifier: Apache-2.0
// Subresources of Pods and CertificateSigningRequests that change a part of the object.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { signingRequestProblem } from "../../../packages/certificates/src/index.ts";
import { uriProblem } from "../../../packages/kube-builtin/src/checks/addresses.ts";
import { type Case, scenario } from "../harness/case.ts";
import { core, ownWidget, ownWidgets } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import { withSpec } from "../harness/spec-crd.ts";

const amounts = (cpu: string, memory = "64Mi"): Loose => ({ requests: { cpu, memory }, limits: { cpu: "2", memory } });
const main = { name: "c", image: "i", resources: amounts("1") };
const debug = { name: "d", image: "busybox", targetContainerName: "c" };

const pod = (name: string): Loose => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { automountServiceAccountToken: false, containers: [main] },
});

const ephemeral = (...ephemeralContainers: readonly Loose[]): Loose => ({ spec: { ephemeralContainers } });
const resized = (...containers: readonly Loose[]): Loose => ({ spec: { containers } });

const exists = (key: string, more: Loose = {}): Loose => ({ key, operator: "Exists", ...more });
const byteOrderMark = "\ufeff";

const requestsPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const recordedAnswers = new URL("../../../packages/kube-builtin/src/testdata/validation.jsonl", import.meta.url);

/** The DER of requests that a real server took, each of another kind of key. */
const wholeRequests: readonly Buffer[] = readFileSync(recordedAnswers, "utf8")
  .split("\n")
  .filter((line) => line.startsWith(`{"path":"${requestsPath}","spec"`) && line.endsWith('"code":201}'))
  .slice(0, 15)
  .map((line) => Buffer.from(String((JSON.parse(line) as Loose).spec.request), "base64").toString())
  .map((pem) => Buffer.from(pem.split("-----")[2] ?? "", "base64"));

const seed = Number(process.env["PROPERTY_SEED"] ?? Date.now() % 1_000_000);

/** One byte of a request replaced, inserted or removed, or its end cut off: the same bytes for both servers. */
function broken(number: number): string {
  const digest = createHash("sha256").update(`${seed}/${number}`).digest();
  const [der = Buffer.alloc(0), how, byte] = [
    wholeRequests[number % wholeRequests.length],
    digest[0] ?? 0,
    digest.subarray(1, 2),
  ];
  const at = digest.readUInt16BE(2) % der.length;
  const rest = der.subarray(how % 4 === 0 ? at : at + 1);
  const changed =
    how % 8 === 1
      ? der.subarray(0, at)
      : Buffer.concat([der.subarray(0, at), how % 4 === 2 ? Buffer.alloc(0) : byte, rest]);
  return `-----BEGIN CERTIFICATE REQUEST-----\n${changed.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;
}

/** Go prints an address of its memory about some of them. */
const isPrintedAlike = (pem: string): boolean =>
  !/tag:0x/.test(signingRequestProblem(Buffer.from(pem), uriProblem) ?? "");

export const kindRulesCases: readonly Case[] = [
  scenario(`certificate signing requests with broken bytes, from PROPERTY_SEED=${seed}`, async (s) => {
    for (const pem of Array.from({ length: 150 }, (_, number) => broken(number)).filter(isPrintedAlike)) {
      const spec = {
        request: Buffer.from(pem).toString("base64"),
        signerName: "example.org/s",
        usages: ["client auth"],
      };
      // The name of the certificate of a client would be in the request of one without these headers.
      const headers = { "impersonate-user": "alice", "impersonate-group": "system:masters" };
      await s.post(`${requestsPath}?dryRun=All`, { metadata: { name: "broken" }, spec }, { headers });
    }
  }),
  scenario("objects with null fields compared by a rule", async (s) => {
    const item = { type: "object", properties: { a: { type: "string" }, n: { type: "string", nullable: true } } };
    const rules = [{ rule: "self.x[0] == self.x[1]" }];
    await withSpec(s, {
      type: "object",
      properties: { x: { type: "array", maxItems: 2, items: item } },
      "x-kubernetes-validations": rules,
    });
    const pairs: readonly (readonly [Loose, Loose])[] = [
      [{ n: null }, { n: null }],
      [
        { a: "b", n: null },
        { a: "b", n: null },
      ],
      [{ n: null }, { n: "c" }],
      [{ n: null }, {}],
      [{ n: null }, { a: "b" }],
    ];
    for (const [index, x] of pairs.entries()) await s.post(ownWidgets(s), ownWidget(s, `w${index}`, { x }));
  }),
  scenario("tolerations of a runtime class and its Pods", async (s) => {
    await s.until(core(s, "serviceaccounts", "default"), ({ code }) => code === 200);
    const evicted = (tolerationSeconds: number): Loose => exists("a", { effect: "NoExecute", tolerationSeconds });
    const tables: Record<string, readonly [own: readonly Loose[], ofClass: readonly Loose[]]> = {
      wider: [
        [exists("a", { effect: "NoSchedule" }), exists("b")],
        [exists("a"), exists("b", { effect: "NoExecute" })],
      ],
      unstated: [[{ key: "a", operator: "Equal", value: "1" }], [{ key: "a", value: "1" }]],
      all: [[exists("a"), evicted(5)], [{ operator: "Exists" }]],
      seconds: [
        [evicted(5), exists("b", { effect: "NoExecute" })],
        [evicted(10), { ...evicted(5), key: "b" }],
      ],
      twice: [[exists("a"), exists("a"), exists("a", { effect: "NoSchedule" })], []],
    };
    for (const [what, [tolerations, ofClass]] of Object.entries(tables)) {
      const runtimeClassName = `${s.namespace}-${what}`;
      const scheduling = { nodeSelector: { a: "b" }, tolerations: ofClass };
      const runtime = { metadata: { name: runtimeClassName }, handler: "h", scheduling };
      await s.post("/apis/node.k8s.io/v1/runtimeclasses", runtime, { quiet: true });
      const body = { ...pod(what), spec: { ...pod(what).spec, runtimeClassName, tolerations } };
      const path = `${core(s, "pods")}?dryRun=All`;
      while ((await s.post(path, body, { quiet: true })).code !== 201);
      await s.post(path, body, { title: `POST a Pod: ${what}`, part: ({ spec }) => spec.tolerations });
      await s.delete(`/apis/node.k8s.io/v1/runtimeclasses/${runtimeClassName}`, undefined, { quiet: true });
    }
  }),

  scenario("times that a zone leads out of the four digits of a year", async (s) => {
    for (const firstTimestamp of ["9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00+01:00", "10000-01-01T00:00:00Z"]) {
      const event = { metadata: { name: "e" }, involvedObject: { namespace: s.namespace }, firstTimestamp };
      const part = (body: Loose): unknown => body.firstTimestamp ?? body.message;
      await s.post(`${core(s, "events")}?dryRun=All`, event, { title: `POST ${firstTimestamp}`, part });
    }
  }),

  scenario("a byte order mark before JSON and before YAML", async (s) => {
    const text = (name: string): string => `${byteOrderMark}${JSON.stringify({ metadata: { name } })}`;
    const typed = `${byteOrderMark}{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`;
    await s.post(core(s, "configmaps"), { metadata: { name: "a" } }, { quiet: true });
    await s.post(core(s, "configmaps"), text("b"));
    await s.put(core(s, "configmaps", "a"), typed);
    await s.delete(core(s, "configmaps", "a"), `${byteOrderMark}{}`);
    await s.patch(core(s, "configmaps", "a"), "merge", `${byteOrderMark}{}`);
    await s.patch(core(s, "configmaps", "a"), "strategic", `${byteOrderMark}{}`);
    await s.patch(core(s, "configmaps", "a"), "json", `${byteOrderMark}[]`);
    await s.patch(`${core(s, "configmaps", "a")}?fieldManager=m`, "apply", typed, { part: ({ kind }) => kind });
    const headers = { "content-type": "application/yaml" };
    await s.post(core(s, "configmaps"), text("c"), { headers, part: ({ kind }) => kind });
  }),

  scenario("ephemeral containers of a Pod", async (s) => {
    await s.until(core(s, "serviceaccounts", "default"), ({ code }) => code === 200);
    await s.post(core(s, "pods"), pod("a"), { quiet: true });
    const path = `${core(s, "pods", "a")}/ephemeralcontainers`;
    await s.get(path);
    await s.patch(path, "strategic", ephemeral({ ...debug, targetContainerName: "nope" }));
    await s.patch(path, "strategic", ephemeral({ ...debug, ports: [{ containerPort: 80 }] }));
    await s.patch(path, "strategic", ephemeral({ ...debug, name: "c" }));
    await s.patch(path, "strategic", { ...ephemeral(debug), metadata: { labels: { a: "b" } } });
    await s.patch(path, "merge", ephemeral());
    await s.patch(core(s, "pods", "a"), "strategic", ephemeral({ name: "e", image: "busybox" }), { part: codeOf });
    await s.get(core(s, "pods", "a"));
  }),

  scenario("integers beyond doubles in built-in kinds", async (s) => {
    await s.until(core(s, "serviceaccounts", "default"), ({ code }) => code === 200);
    const [most, least] = [9223372036854775807n, -9223372036854775808n];
    const exec = { exec: { command: ["true"] } };
    const toleration = { operator: "Exists", effect: "NoExecute", tolerationSeconds: most };
    const ask = (title: string, spec: Loose, container: Loose = {}): Promise<unknown> => {
      const containers = [{ ...main, ...container }];
      const body = { ...pod("a"), spec: { automountServiceAccountToken: false, containers, ...spec } };
      return s.post(`${core(s, "pods")}?dryRun=All`, body, { title });
    };
    await ask("POST a deadline", { activeDeadlineSeconds: most });
    await ask("POST a negative deadline", { activeDeadlineSeconds: least });
    await ask("POST a negative grace period", { terminationGracePeriodSeconds: least });
    await ask("POST a toleration", { tolerations: [toleration] });
    await ask("POST a toleration of another effect", { tolerations: [{ ...toleration, effect: "NoSchedule" }] });
    await ask("POST a probe", {}, { livenessProbe: { ...exec, terminationGracePeriodSeconds: least } });
    await ask("POST a readiness probe", {}, { readinessProbe: { ...exec, terminationGracePeriodSeconds: most } });
    await ask("POST a sleep", {}, { lifecycle: { preStop: { sleep: { seconds: most } } } });
    await ask("POST a user", {}, { securityContext: { runAsUser: most } });
    const token = { serviceAccountToken: { path: "t", expirationSeconds: most } };
    await ask("POST a token", { volumes: [{ name: "v", projected: { sources: [token] } }] });
    await s.post(core(s, "pods"), { ...pod("t"), spec: { ...pod("t").spec, tolerations: [toleration] } });
    await s.patch(core(s, "pods", "t"), "json", [
      { op: "replace", path: "/spec/tolerations/0/tolerationSeconds", value: most - 1n },
    ]);
    const held = { name: "held", generation: most, finalizers: ["example.org/hold"] };
    await s.post(core(s, "configmaps"), { metadata: held }, { part: ({ metadata }) => metadata.generation });
    await s.delete(core(s, "configmaps", "held"), undefined, { part: ({ metadata }) => metadata.generation });
    await s.patch(core(s, "configmaps", "held"), "merge", { metadata: { finalizers: null } }, { quiet: true });
    await s.post(core(s, "configmaps"), { metadata: { name: "other" } }, { quiet: true });
    await s.delete(core(s, "configmaps", "other"), { gracePeriodSeconds: most });
  }),

  scenario("a Pod is resized", async (s) => {
    await s.until(core(s, "serviceaccounts", "default"), ({ code }) => code === 200);
    await s.post(core(s, "pods"), pod("a"), { quiet: true });
    const path = `${core(s, "pods", "a")}/resize`;
    await s.get(path);
    await s.patch(path, "strategic", {
      ...resized({ name: "c", resources: amounts("500m") }),
      metadata: { labels: { a: "b" } },
    });
    await s.patch(path, "strategic", resized({ name: "c", image: "other" }));
    await s.patch(path, "strategic", resized({ name: "other", image: "i" }));
    await s.patch(path, "strategic", resized({ name: "c", resources: amounts("2") }));
    await s.patch(path, "strategic", resized({ name: "c", resources: { requests: { "ephemeral-storage": "1Gi" } } }));
    await s.patch(path, "json", [{ op: "remove", path: "/spec/containers/0/resources/limits/cpu" }]);
    await s.patch(path, "json", [{ op: "remove", path: "/spec/containers/0/resources" }]);
    await s.get(core(s, "pods", "a"));
  }),
];

/** The whole message has the difference in the form of Go types. */
const codeOf = ({ code, reason }: Loose): Loose => ({ code, reason });
