// SPDX-License-Identifier: Apache-2.0
// The metrics of admission: names, types, labels, bounds of buckets, and what they count.
import { setTimeout as delay } from "node:timers/promises";
import { type Case, scenario } from "../harness/case.ts";
import { configMap, core } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";

const registration = "/apis/admissionregistration.k8s.io/v1";
const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] };

const holds = { name: "holds", expression: "object.data.a != 'z'" };
const isFalse = { name: "false", expression: "object.data.a == 'z'" };
const failsAgain = { name: "fails-again", expression: "object.data.neither == 'z'" };
const fails = { name: "fails", expression: "object.data.nope == 'z'" };

/** Match conditions by name, with what a policy or webhook does about failures. */
const conditions: Readonly<Record<string, Loose>> = {
  "one-holds": { matchConditions: [holds], failurePolicy: "Ignore" },
  "one-holds-fails": { matchConditions: [holds], failurePolicy: "Fail" },
  "one-false": { matchConditions: [holds, isFalse], failurePolicy: "Fail" },
  "one-fails-ignored": { matchConditions: [fails, failsAgain], failurePolicy: "Ignore" },
  "one-fails": { matchConditions: [fails], failurePolicy: "Fail" },
  "one-fails-one-false": { matchConditions: [fails, isFalse, failsAgain], failurePolicy: "Fail" },
};

const namespaceSelector = (s: Session): Loose => ({ matchLabels: { "kubernetes.io/metadata.name": s.namespace } });

function webhook(s: Session, name: string, spec: Loose): Loose {
  const hook = {
    name: `${name}.${s.namespace}.example.org`,
    // Nothing listens there: every call fails.
    clientConfig: { url: "https://127.0.0.1:1/x" },
    rules: [rule],
    namespaceSelector: namespaceSelector(s),
    objectSelector: { matchLabels: { case: name } },
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    ...spec,
  };
  return { metadata: { name: `${s.namespace}-${name}` }, webhooks: [hook] };
}

function policy(s: Session, name: string, spec: Loose): Loose {
  const matchConstraints = {
    namespaceSelector: namespaceSelector(s),
    objectSelector: { matchLabels: { case: name } },
    resourceRules: [rule],
  };
  return { metadata: { name: `${s.namespace}-${name}` }, spec: { matchConstraints, ...spec } };
}

const validations = [{ expression: "object.data.a == 'z'" }];
const expression = "[JSONPatch{op: 'add', path: '/data/b', value: 'x'}]";
const mutations = [
  { patchType: "JSONPatch", jsonPatch: { expression } },
  { patchType: "JSONPatch", jsonPatch: { expression } },
];

interface Configured {
  readonly path: string;
  readonly of: (s: Session, name: string, conditions: Loose) => Loose;
  readonly binding?: { readonly path: string; readonly spec: Loose };
}

const configured: Readonly<Record<string, Configured>> = {
  mutating: { path: "mutatingwebhookconfigurations", of: webhook },
  validating: { path: "validatingwebhookconfigurations", of: webhook },
  policy: {
    path: "validatingadmissionpolicies",
    of: (s, name, more) => policy(s, name, { validations, ...more }),
    binding: { path: "validatingadmissionpolicybindings", spec: { validationActions: ["Deny"] } },
  },
  mutation: {
    path: "mutatingadmissionpolicies",
    of: (s, name, more) => policy(s, name, { mutations, reinvocationPolicy: "Never", ...more }),
    binding: { path: "mutatingadmissionpolicybindings", spec: {} },
  },
};

const post = async (s: Session, path: string, body: Loose): Promise<void> => {
  const { code, text } = await s.post(`${registration}/${path}`, body, { quiet: true });
  if (code !== 201) throw new Error(`cannot create ${path}: ${text}`);
};

const labelled = (name: string): Loose => ({ ...configMap(name), metadata: { name, labels: { case: name } } });

/** The families of admission: type, labels and bounds of buckets, and the counts of the series that name an object of the case. */
function families(s: Session, text: string): Loose {
  const found: Record<string, Loose> = {};
  for (const [, family = "", type] of text.matchAll(/^# TYPE (apiserver_(?:\S*admission|cel)_\S+) (\w+)$/gm)) {
    const lines = text.split("\n").filter((line) => line.startsWith(`${family}{`) || line.startsWith(`${family}_`));
    const own = lines.filter((line) => new RegExp(`^${family}(?:_bucket|_sum|_count)?\\{`).test(line));
    const labels = own.flatMap((line) => [...line.matchAll(/[{,](\w+)="/g)].map(([, name]) => name));
    const bounds = own.flatMap((line) => [...line.matchAll(/(?:le|quantile)="([^"]+)"/g)].map(([, bound]) => bound));
    const counted = own.filter((line) => line.includes(s.namespace) && !/_(?:bucket|sum)\{/.test(line));
    if (own.length === 0) continue;
    found[family] = {
      type,
      labels: [...new Set(labels)].sort(),
      bounds: [...new Set(bounds.map(Number))].map(String).sort(),
      series: counted.map(seriesOf).sort(),
    };
  }
  return found;
}

function seriesOf(line: string): string {
  const [, name = "", labels = "", value = ""] = /^(\w+)\{(.*)\} (\S+)$/.exec(line) ?? [];
  return `${name}{${labels.split(",").sort().join(",")}} ${value}`;
}

export const admissionMetricsCases: readonly Case[] = [
  scenario("metrics of admission", async (s) => {
    const names: string[] = [];
    for (const [kind, { path, of, binding }] of Object.entries(configured)) {
      for (const [title, spec] of Object.entries(conditions)) {
        const name = `${kind}-${title}`;
        names.push(name);
        await post(s, path, of(s, name, spec));
        if (binding === undefined) continue;
        const bound = { policyName: `${s.namespace}-${name}`, ...binding.spec };
        await post(s, binding.path, { metadata: { name: `${s.namespace}-${name}` }, spec: bound });
      }
    }
    // Configurations take effect in the order in which they were written, each kind by itself.
    for (const last of ["mutating-one-fails", "validating-one-fails", "policy-one-fails", "mutation-one-fails"]) {
      const probe = { ...labelled(last), metadata: { name: "probe", labels: { case: last } } };
      for (;;) {
        const { code } = await s.post(`${core(s, "configmaps")}?dryRun=All`, probe, { quiet: true });
        if (code !== 201) break;
        await delay(50);
      }
    }
    await delay(1000);
    for (const name of names) await s.post(core(s, "configmaps"), labelled(name), { part: ({ code }) => code });
    const { text } = await s.get("/metrics", { quiet: true });
    for (const [family, shown] of Object.entries(families(s, text)).sort()) s.note(family, shown);
    for (const [kind, { path, binding }] of Object.entries(configured)) {
      for (const title of Object.keys(conditions)) {
        const name = `${s.namespace}-${kind}-${title}`;
        if (binding !== undefined)
          await s.delete(`${registration}/${binding.path}/${name}`, undefined, { quiet: true });
        await s.delete(`${registration}/${path}/${name}`, undefined, { quiet: true });
      }
    }
  }),
];
