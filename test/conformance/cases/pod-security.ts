// SPDX-License-Identifier: Apache-2.0
// The plugin PodSecurity: labels of a namespace, and Pods and workloads that do not meet the standards that they name.
import { type Case, scenario } from "../harness/case.ts";
import { core, deployment, inGroup } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";

const quiet = { quiet: true };
const prefix = "pod-security.kubernetes.io/";

const pod = (name: string, spec: Loose = {}, metadata: Loose = {}): Loose => ({
  metadata: { name, ...metadata },
  spec: { automountServiceAccountToken: false, containers: [{ name: "c", image: "i" }], ...spec },
});

const container = (securityContext: Loose, more: Loose = {}): Loose => ({
  name: "c",
  image: "i",
  securityContext,
  ...more,
});
const containers = (...contexts: Loose[]): Loose =>
  contexts.map((securityContext, index) => ({ ...container(securityContext), name: `c${index}` }));
const of = (...contexts: Loose[]): Loose => ({ containers: containers(...contexts) });
const inPod = (securityContext: Loose, more: Loose = {}): Loose => ({ securityContext, ...more });

/** A container that meets all standards. */
const good = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  runAsNonRoot: true,
  seccompProfile: { type: "RuntimeDefault" },
};

const armor = "container.apparmor.security.beta.kubernetes.io/";
const seccompOld = "seccomp.security.alpha.kubernetes.io/";
const probe = (host: string): Loose => ({ httpGet: { host, port: 80 } });

/** Pods, each with something that a standard forbids or just allows. */
const rows: Readonly<Record<string, readonly [spec: Loose, metadata?: Loose]>> = {
  plain: [{}],
  good: [of(good)],
  "good-in-pod": [
    {
      ...inPod({ runAsNonRoot: true, seccompProfile: { type: "Localhost", localhostProfile: "a.json" } }),
      ...of({ allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] } }),
    },
  ],
  "two-containers": [of({}, good, {})],
  init: [{ ...of(good), initContainers: [{ name: "first", image: "i" }] }],
  privileged: [of({ privileged: true }, { privileged: true })],
  "one-privileged": [of({ privileged: true }, { privileged: false })],
  capabilities: [
    of({ capabilities: { add: ["SYS_ADMIN", "CHOWN", "NET_ADMIN"] } }, { capabilities: { add: ["ALL"] } }),
  ],
  "few-capabilities": [of({ capabilities: { add: ["CHOWN"], drop: ["KILL"] } })],
  network: [{ hostNetwork: true }],
  namespaces: [{ hostNetwork: true, hostPID: true, hostIPC: true }],
  "host-path": [{ volumes: [{ name: "a", hostPath: { path: "/a" } }] }],
  "host-paths": [
    {
      volumes: [
        { name: "a", hostPath: { path: "/a" } },
        { name: "b", hostPath: { path: "/b" } },
        { name: "c", nfs: { server: "s", path: "/" } },
        { name: "d", emptyDir: {} },
        { name: "e", secret: { secretName: "x" } },
      ],
    },
  ],
  port: [{ containers: [{ name: "c", image: "i", ports: [{ containerPort: 80, hostPort: 80 }] }] }],
  ports: [
    {
      containers: [
        { name: "a", image: "i", ports: [{ containerPort: 80, hostPort: 8080 }] },
        { name: "b", image: "i", ports: [{ containerPort: 90, hostPort: 90 }, { containerPort: 1 }] },
      ],
    },
  ],
  "probe-host": [{ containers: [{ name: "c", image: "i", livenessProbe: probe("h") }] }],
  "probe-hosts": [
    {
      containers: [
        {
          name: "b",
          image: "i",
          readinessProbe: probe("z"),
          lifecycle: { preStop: { httpGet: { host: "y", port: 1 } } },
        },
        { name: "a", image: "i", startupProbe: { tcpSocket: { host: "z", port: 80 } } },
      ],
    },
  ],
  "proc-mount": [{ hostUsers: false, ...of({ procMount: "Unmasked" }) }],
  "selinux-type": [of({ seLinuxOptions: { type: "other_t" } })],
  "selinux-engine": [of({ seLinuxOptions: { type: "container_engine_t" } })],
  "selinux-all": [
    {
      ...inPod({ seLinuxOptions: { type: "x_t", user: "u", level: "s0" } }),
      ...of(
        { seLinuxOptions: { role: "r" } },
        { seLinuxOptions: { type: "container_t" } },
        { seLinuxOptions: { type: "a_t" } },
      ),
    },
  ],
  "seccomp-pod": [inPod({ seccompProfile: { type: "Unconfined" } })],
  seccomp: [
    { ...inPod({ seccompProfile: { type: "Unconfined" } }), ...of({ seccompProfile: { type: "Unconfined" } }, {}) },
  ],
  "seccomp-annotation": [
    {},
    { annotations: { [`${seccompOld}pod`]: "unconfined", [`container.${seccompOld}c`]: "unconfined" } },
  ],
  "apparmor-pod": [inPod({ appArmorProfile: { type: "Unconfined" } })],
  apparmor: [of({ appArmorProfile: { type: "Unconfined" } }, { appArmorProfile: { type: "RuntimeDefault" } })],
  "apparmor-annotation": [
    of({ appArmorProfile: { type: "Unconfined" } }),
    { annotations: { [`${armor}c0`]: "unconfined" } },
  ],
  sysctls: [
    inPod({
      sysctls: ["kernel.msgmax", "net.ipv4.tcp_rmem", "net.ipv4.tcp_syncookies"].map((name) => ({ name, value: "1" })),
    }),
  ],
  "root-user": [{ ...inPod({ runAsUser: 0 }), ...of({ runAsUser: 0 }, { runAsUser: 1 }) }],
  root: [{ ...inPod({ runAsNonRoot: false }), ...of({ runAsNonRoot: false }, {}) }],
  "root-container": [{ ...inPod({ runAsNonRoot: true }), ...of({ runAsNonRoot: false }, {}) }],
  "own-users": [{ hostUsers: false, ...of({ ...good, runAsUser: 0, runAsNonRoot: false }) }],
  windows: [{ os: { name: "windows" } }],
  "host-process": [
    {
      hostNetwork: true,
      os: { name: "windows" },
      ...inPod({ windowsOptions: { hostProcess: true } }),
      ...of({ windowsOptions: { hostProcess: true } }),
    },
  ],
};

async function withAccount(s: Session): Promise<void> {
  await s.until(core(s, "serviceaccounts", "default"), ({ code }) => code === 200, quiet);
}

/** Sets the labels of the namespace, without their prefix. */
function label(s: Session, labels: Loose, more: Loose = quiet): Promise<unknown> {
  const named = Object.fromEntries(Object.entries(labels).map(([name, value]) => [`${prefix}${name}`, value]));
  const patch = { metadata: { labels: named } };
  return s.patch(`/api/v1/namespaces/${s.namespace}`, "merge", patch, more);
}

const outcome = ({ message, code, reason, details }: Loose): Loose => ({ message, code, reason, details });

/** The outcome of a new Pod, once the server knows the labels: the reference reads them from a cache. */
async function create(s: Session, title: string, body: Loose): Promise<void> {
  await s.post(`${core(s, "pods")}?dryRun=All`, body, { title, part: outcome });
}

async function untilKnown(s: Session, labels: Loose): Promise<void> {
  await label(s, {
    enforce: null,
    "enforce-version": null,
    warn: null,
    "warn-version": null,
    audit: null,
    "audit-version": null,
  });
  await label(s, labels);
  // An event that every label of a case brings: a warning or a refusal of this Pod by the new labels.
  const [mode, version] =
    labels.enforce === undefined ? ["warn", labels["warn-version"]] : ["enforce", labels["enforce-version"]];
  const wanted = `${labels[mode ?? ""]}:${version ?? "latest"}`;
  const body = pod("probe", { hostPID: true });
  for (;;) {
    const { text, headers } = await s.post(`${core(s, "pods")}?dryRun=All`, body, quiet);
    if (text.includes(wanted) || String(headers["warning"]).includes(wanted)) return;
  }
}

export const podSecurityCases: readonly Case[] = [
  ...["baseline", "restricted"].map((level) =>
    scenario(`PodSecurity: Pods at the level ${level}`, async (s) => {
      await withAccount(s);
      await untilKnown(s, { enforce: level });
      for (const [name, [spec, metadata]] of Object.entries(rows)) await create(s, name, pod(name, spec, metadata));
    }),
  ),
  scenario("PodSecurity: versions of the standards", async (s) => {
    await withAccount(s);
    for (const version of [
      "v1.0",
      "v1.7",
      "v1.18",
      "v1.22",
      "v1.24",
      "v1.27",
      "v1.29",
      "v1.31",
      "v1.34",
      "v1.35",
      "v1.99",
    ]) {
      for (const level of ["baseline", "restricted"]) {
        await untilKnown(s, { enforce: level, "enforce-version": version });
        for (const [name, [spec, metadata]] of Object.entries(rows)) {
          await create(s, `${level} ${version}: ${name}`, pod(name, spec, metadata));
        }
      }
    }
  }),
  scenario("PodSecurity: warnings about Pods and workloads", async (s) => {
    await withAccount(s);
    const template = (spec: Loose): Loose => ({ metadata: { labels: { app: "a" } }, spec: pod("", spec).spec });
    const bad = template({ hostPID: true });
    const never = template({ hostPID: true, restartPolicy: "Never" });
    const selector = { matchLabels: { app: "a" } };
    const workloads: Readonly<Record<string, Loose>> = {
      "apps/v1/deployments": { spec: { selector, template: bad } },
      "apps/v1/replicasets": { spec: { selector, template: bad } },
      "apps/v1/statefulsets": { spec: { selector, serviceName: "a", template: bad } },
      "apps/v1/daemonsets": { spec: { selector, template: bad } },
      "batch/v1/jobs": { spec: { template: never } },
      "batch/v1/cronjobs": { spec: { schedule: "* * * * *", jobTemplate: { spec: { template: never } } } },
    };
    const part = ({ message, code }: Loose): Loose => ({ message, code });
    const sets: readonly Loose[] = [
      { warn: "baseline" },
      { enforce: "baseline" },
      { enforce: "restricted", "enforce-version": "v1.20" },
      { enforce: "baseline", warn: "privileged" },
      { enforce: "baseline", "warn-version": "v1.5" },
      { enforce: "baseline", warn: "restricted", "warn-version": "v1.30", audit: "restricted" },
    ];
    for (const labels of sets) {
      await untilKnown(s, labels);
      const title = JSON.stringify(labels);
      await create(s, `${title}: pod`, pod("a", { hostPID: true }));
      await create(s, `${title}: plain pod`, pod("a"));
      for (const [resource, body] of Object.entries(workloads)) {
        const object = { metadata: { name: "a" }, ...body };
        await s.post(`${inGroup(s, resource)}?dryRun=All`, object, { title: `${title}: ${resource}`, part });
      }
      const controller = { metadata: { name: "a" }, spec: { selector: { app: "a" }, template: bad } };
      await s.post(`${core(s, "replicationcontrollers")}?dryRun=All`, controller, {
        title: `${title}: controller`,
        part,
      });
      await s.post(
        `${core(s, "podtemplates")}?dryRun=All`,
        { metadata: { name: "a" }, template: bad },
        { title: `${title}: template`, part },
      );
    }
  }),
  scenario("PodSecurity: updates of Pods and workloads", async (s) => {
    await withAccount(s);
    await s.post(core(s, "pods"), pod("old", { hostPID: true }), quiet);
    await s.post(inGroup(s, "apps/v1/deployments"), deployment("old"), quiet);
    await untilKnown(s, { enforce: "restricted" });
    const path = core(s, "pods", "old");
    const part = outcome;
    await s.patch(path, "merge", { metadata: { labels: { a: "b" } } }, { title: "a label", part });
    const containers = [{ name: "c", image: "other" }];
    await s.patch(path, "strategic", { spec: { containers } }, { title: "an image", part });
    const ephemeralContainers = [{ name: "debug", image: "i" }];
    await s.patch(
      `${path}/ephemeralcontainers`,
      "strategic",
      { spec: { ephemeralContainers } },
      { title: "ephemeral", part },
    );
    const resources = { requests: { cpu: "1" } };
    await s.patch(
      `${path}/resize`,
      "strategic",
      { spec: { containers: [{ name: "c", resources }] } },
      { title: "resize", part },
    );
    await s.patch(`${path}/status`, "merge", { status: { phase: "Running" } }, { title: "status", part });
    await s.patch(
      inGroup(s, "apps/v1/deployments", "old"),
      "merge",
      { spec: { replicas: 2 } },
      { title: "a workload", part },
    );
    await s.patch(
      inGroup(s, "apps/v1/deployments", "old/scale"),
      "merge",
      { spec: { replicas: 3 } },
      { title: "scale", part },
    );
    await s.post(
      `${core(s, "pods")}?dryRun=All`,
      { ...pod(""), metadata: { generateName: "made-" } },
      {
        title: "a generated name",
        part: ({ message }) => String(message).replace(/made-\w{5}/, "made-<generated>"),
      },
    );
    await s.delete(path, { gracePeriodSeconds: 0 }, { title: "deletion", part });
  }),
  scenario("PodSecurity: labels of namespaces", async (s) => {
    await withAccount(s);
    for (const name of ["b", "a", "c"]) await s.post(core(s, "pods"), pod(name, { hostPID: true }), quiet);
    await s.post(core(s, "pods"), pod("d", of({ privileged: true })), quiet);
    await s.post(core(s, "pods"), pod("e", of(good)), quiet);
    const names = ["a", "b", "c", "d", "e"];
    await s.until(core(s, "pods"), ({ body }) => body.items.length === names.length, quiet);
    const part = ({ message, reason, code, details }: Loose): Loose => ({ message, reason, code, details });
    const title = (labels: Loose): string => JSON.stringify(labels);
    const clear = {
      enforce: null,
      "enforce-version": null,
      audit: null,
      "audit-version": null,
      warn: null,
      "warn-version": null,
    };
    const sets: readonly Loose[] = [
      { enforce: "baseline" },
      { enforce: "restricted" },
      { enforce: "baseline", "enforce-version": "v1.0" },
      { enforce: "privileged" },
      { enforce: "none" },
      {
        enforce: "Baseline",
        "enforce-version": "1.20",
        audit: "",
        "audit-version": "v2.0",
        warn: "x",
        "warn-version": "v1.01",
      },
      { "enforce-version": "v1" },
      { warn: "restricted", audit: "baseline" },
    ];
    for (const labels of sets) {
      await label(s, clear);
      await label(s, labels, { title: title(labels), part });
      const named = Object.fromEntries(Object.entries(labels).map(([name, value]) => [`${prefix}${name}`, value]));
      const namespace = { metadata: { name: `${s.namespace}-new`, labels: named } };
      await s.post("/api/v1/namespaces?dryRun=All", namespace, { title: `new: ${title(labels)}`, part });
    }
    await label(s, { ...clear, enforce: "restricted" });
    await label(s, { enforce: "baseline" }, { title: "relaxed", part });
    await label(s, { "enforce-version": "v1.20" }, { title: "another version", part });
    await label(s, { other: "x" }, { title: "an unknown label", part });
  }),
];
