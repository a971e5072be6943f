// SPDX-License-Identifier: Apache-2.0
// Objects that `npm run compare-kinds` found to be answered differently.
import { type Case, scenario } from "../harness/case.ts";
import { core, inGroup } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";
import { signingRequest } from "../random-kinds/samples.ts";

const container = { name: "c", image: "i" };
const labels = { app: "a" };
const template = (spec: Loose = {}): Loose => ({ metadata: { labels }, spec: { containers: [container], ...spec } });
const job = (more: Loose): Loose => ({ template: template({ restartPolicy: "Never" }), ...more });
const stateful = (more: Loose): Loose => ({
  serviceName: "s",
  selector: { matchLabels: labels },
  template: template(),
  ...more,
});
const claimSpec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
const claimed = (metadata: Loose): Loose => ({
  name: "v",
  ephemeral: { volumeClaimTemplate: { metadata, spec: claimSpec } },
});
const onExit = (more: Loose): Loose => ({ operator: "In", values: [1], ...more });
const failing = (...rules: readonly Loose[]): Loose => job({ podFailurePolicy: { rules } });

/** Specs of objects by the path of their kind. */
const specs: Readonly<Record<string, readonly Loose[]>> = {
  "batch/v1/jobs": [
    failing({ action: "FailIndex", onPodConditions: [] }),
    failing({ action: "", onExitCodes: onExit({ operator: "Nope", containerName: "a b" }) }),
    failing({ action: "Ignore", onExitCodes: onExit({ values: [3, 0, 3] }), onPodConditions: [{ type: "A" }] }),
    failing({ action: "Count", onExitCodes: onExit({ values: [] }) }),
    job({ podReplacementPolicy: "" }),
    job({ podReplacementPolicy: "TerminatingOrFailed", podFailurePolicy: { rules: [] } }),
    job({ maxFailedIndexes: 3, completionMode: "NonIndexed" }),
    job({ completionMode: "" }),
    job({ completionMode: "Indexed", completions: 3, maxFailedIndexes: 4, backoffLimitPerIndex: 1 }),
    job({ completionMode: "Indexed", completions: 200_000, parallelism: 20_000, backoffLimitPerIndex: 1 }),
    job({ completionMode: "Indexed", completions: 3, parallelism: 200_000 }),
  ],
  "batch/v1/cronjobs": [
    { schedule: "* * * * *", jobTemplate: { spec: job({ manualSelector: true }) } },
    { schedule: "* * * * *", timeZone: "", jobTemplate: { spec: job({}) } },
    { schedule: "* * * * *", timeZone: "local", jobTemplate: { spec: job({}) } },
  ],
  "apps/v1/statefulsets": [
    stateful({ ordinals: { start: -1 } }),
    stateful({ updateStrategy: { type: "Nope", rollingUpdate: { partition: 2 } } }),
    stateful({ selector: { matchExpressions: [{ key: "a/b/c" }] }, template: template({ activeDeadlineSeconds: 3 }) }),
  ],
  "apps/v1/deployments": [
    {
      selector: { matchLabels: labels },
      template: template(),
      strategy: { type: "x", rollingUpdate: { maxSurge: "25%" } },
    },
    { selector: { matchLabels: labels }, template: template({ volumes: [claimed({})] }) },
    { selector: { matchLabels: labels }, template: template({ volumes: [claimed({ finalizers: [] })] }) },
  ],
  pods: [
    { automountServiceAccountToken: false, containers: [container], runtimeClassName: "none" },
    { automountServiceAccountToken: false, containers: [container], overhead: { cpu: "1" } },
    { automountServiceAccountToken: false, containers: [{ ...container, image: "UDP" }, { name: "" }, { name: "" }] },
  ],
  services: [
    { clusterIP: "Foo", loadBalancerClass: "a" },
    { clusterIP: "None", sessionAffinity: "ClientIP", loadBalancerIP: "1.2.3.4", ports: [{ port: 80 }] },
    { ipFamilyPolicy: "RequireDualStack", ports: [{ targetPort: "a=b" }] },
  ],
};

const pathOf = (s: Session, kind: string): string => (kind.includes("/") ? inGroup(s, kind) : core(s, kind));

/** The servers list causes in orders of their own. */
const answer = ({ message, details, metadata: _, ...body }: Loose): Loose =>
  details?.causes === undefined ? { ...body, message } : { ...body, causes: details.causes };

export const foundObjectCases: readonly Case[] = [
  scenario("objects that random requests found", async (s) => {
    await s.until(core(s, "serviceaccounts", "default"), ({ code }) => code === 200);
    for (const [kind, all] of Object.entries(specs)) {
      for (const spec of all) {
        const title = `${kind} ${JSON.stringify(spec)}`;
        const object = { metadata: { name: "a" }, spec };
        await s.post(`${pathOf(s, kind)}?dryRun=All`, object, {
          title,
          part: kind === "services" || kind === "pods" ? ({ code, message }) => ({ code, message }) : answer,
        });
      }
    }
  }),
  scenario("the address of a load balancer has a mode", async (s) => {
    const spec = { type: "LoadBalancer", ports: [{ port: 80 }] };
    await s.post(core(s, "services"), { metadata: { name: "a" }, spec }, { quiet: true });
    const status = (ingress: Loose): Loose => ({ status: { loadBalancer: { ingress: [ingress] } } });
    for (const ingress of [
      { ip: "10.1.2.3" },
      { ip: "web" },
      { hostname: "a.example.org" },
      { ip: "10.1.2.3", ipMode: "x" },
    ]) {
      await s.patch(`${core(s, "services", "a")}/status`, "merge", status(ingress), {
        title: JSON.stringify(ingress),
        part: (body) => body.message ?? body.status,
      });
    }
  }),
  scenario("the blocks of a signing request", async (s) => {
    const lines = Buffer.from(signingRequest, "base64").toString().split("\n");
    const content = lines.slice(1, -2).join("\n");
    const block = (type: string, text = content, last = type): string =>
      `-----BEGIN ${type}-----\n${text}\n-----END ${last}-----\n`;
    const type = "CERTIFICATE REQUEST";
    const texts: Readonly<Record<string, string>> = {
      whole: block(type),
      "no end": `-----BEGIN ${type}-----\n${content}\n`,
      "another end": block(type, content, "CERTIFICATE"),
      "not base64": block(type, "a-b"),
      "text before and after": `hello\n${block(type)}bye`,
      "text before on the line": `x${block(type)}`,
      "spaces and carriage returns": block(type, content.replaceAll("\n", " \r\n")).replaceAll(
        "-----\n",
        "-----  \r\n",
      ),
      headers: block(type, `Name: value\nOther: 1\n\n${content}`),
      "another block first": block("CERTIFICATE", "aaaa") + block(type),
      "a broken block first": block("CERTIFICATE", "a-b") + block(type),
      "a block in a block": `-----BEGIN A-----\n${block(type)}`,
      "no dashes after the type": `-----BEGIN ${type}\n${content}\n-----END ${type}-----\n`,
      "text after the end": block(type).trimEnd().concat("x\n"),
      empty: "",
    };
    const spec = { signerName: "example.org/signer", usages: ["client auth"] };
    for (const [title, text] of Object.entries(texts)) {
      const request = Buffer.from(text).toString("base64");
      const object = { metadata: { name: "a" }, spec: { ...spec, request } };
      await s.post("/apis/certificates.k8s.io/v1/certificatesigningrequests?dryRun=All", object, {
        title,
        part: (body) => body.message ?? body.spec.request,
      });
    }
  }),
  scenario("ports of nodes stay with names", async (s) => {
    const path = core(s, "services", "a");
    const port = (name: string, number: number, more: Loose = {}): Loose => ({ name, port: number, ...more });
    const object = (...ports: readonly Loose[]): Loose => ({
      ...{ apiVersion: "v1", kind: "Service", metadata: { name: "a" } },
      spec: { type: "NodePort", ports },
    });
    const created = await s.post(core(s, "services"), object(port("a", 80), port("b", 81)), { quiet: true });
    const [first, second] = created.body.spec.ports.map(({ nodePort }: Loose) => nodePort);
    const known = new Map([
      [first, "first"],
      [second, "second"],
    ]);
    const part = (body: Loose): Loose =>
      body.spec?.ports.map((one: Loose) => known.get(one.nodePort) ?? "other") ??
      body.message.replace(first, "first").replace(second, "second");
    const put = async (title: string, ...ports: readonly Loose[]): Promise<unknown> =>
      await s.put(`${path}?dryRun=All`, object(...ports), { title, part });
    await put("other numbers", port("b", 90), port("a", 91));
    await put("other names", port("c", 80), port("a", 81));
    await put("one that another asks for", port("a", 80), port("c", 81, { nodePort: first }));
    await put("shared", port("a", 80, { nodePort: first }), port("b", 80, { nodePort: first, protocol: "UDP" }));
    await put("twice", port("a", 80, { nodePort: second }), port("b", 81));
    await put("twice, asked for", port("a", 80, { nodePort: first }), port("c", 81, { nodePort: first }));
  }),
  scenario("a port for health checks that cannot be had", async (s) => {
    const spec = { type: "LoadBalancer", externalTrafficPolicy: "Local", ports: [{ port: 80, nodePort: 31_876 }] };
    for (const healthCheckNodePort of [80, 31_876]) {
      const object = { metadata: { name: "a" }, spec: { ...spec, healthCheckNodePort } };
      await s.post(core(s, "services"), object, { title: String(healthCheckNodePort) });
    }
  }),
  scenario("an indexed Job grows with its parallelism", async (s) => {
    const path = inGroup(s, "batch/v1/jobs");
    const spec = job({ completionMode: "Indexed", completions: 3, parallelism: 3, suspend: true });
    await s.post(path, { metadata: { name: "a" }, spec }, { quiet: true });
    const part = (body: Loose): Loose => body.message ?? [body.spec.completions, body.spec.parallelism];
    await s.patch(`${path}/a`, "merge", { spec: { completions: 5 } }, { title: "alone", part });
    await s.patch(`${path}/a`, "merge", { spec: { completions: 5, parallelism: 5 } }, { title: "together", part });
  }),
  scenario("a Pod with a runtime class", async (s) => {
    await s.until(core(s, "serviceaccounts", "default"), ({ code }) => code === 200);
    const name = s.namespace;
    const scheduling = { nodeSelector: { sandbox: "yes" }, tolerations: [{ key: "sandbox", operator: "Exists" }] };
    const sandbox = { metadata: { name }, handler: "h", overhead: { podFixed: { cpu: "250m" } }, scheduling };
    await s.post("/apis/node.k8s.io/v1/runtimeclasses", sandbox, { quiet: true });
    const spec = { automountServiceAccountToken: false, containers: [container], runtimeClassName: name };
    const part = (body: Loose): Loose =>
      body.message ?? [body.spec.overhead, body.spec.nodeSelector, body.spec.tolerations];
    const post = async (more: Loose): Promise<unknown> => {
      const object = { metadata: { name: "a" }, spec: { ...spec, ...more } };
      return await s.post(`${core(s, "pods")}?dryRun=All`, object, { title: JSON.stringify(more), part });
    };
    await s.until(`/apis/node.k8s.io/v1/runtimeclasses/${name}`, ({ code }) => code === 200);
    await post({});
    await post({ overhead: { cpu: "1" } });
    await post({ nodeSelector: { sandbox: "no" } });
    await s.delete(`/apis/node.k8s.io/v1/runtimeclasses/${name}`, undefined, { quiet: true });
  }),
];
