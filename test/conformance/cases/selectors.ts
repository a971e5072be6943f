// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import { configMap, core, inGroup, widget, widgets } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import { servedVersions } from "../harness/served-kinds.ts";
import type { Session } from "../harness/session.ts";

const names = (list: Loose): Loose => list.items?.map((item: Loose) => item.metadata.name) ?? list;

/** Objects with labels for which every operator has another result. */
const labelled: Readonly<Record<string, Record<string, string>>> = {
  none: {},
  "env-dev": { env: "dev" },
  "env-prod": { env: "prod", tier: "front" },
  "env-empty": { env: "" },
  "tier-back": { tier: "back", "example.org/n": "5" },
  number: { n: "10" },
  "number-7": { n: "7" },
  word: { n: "ten" },
};

const selectors = [
  "env=dev",
  "env==dev",
  "env = dev",
  "env!=dev",
  "env in (dev,prod)",
  "env in (dev, prod )",
  "env notin (dev,prod)",
  "env",
  "!env",
  "! env",
  "env=",
  "env in ()",
  "env in (,dev)",
  "env,tier",
  "env=prod,tier=front",
  "env=prod,tier!=front",
  "n>5",
  "n<8",
  "n>9,n<11",
  "n>=5",
  "n>ten",
  "n > 5",
  "example.org/n=5",
  "example.org/n",
  "",
  ",",
  "env=dev,",
  "env=dev,,tier",
  "x in",
  "x in (a",
  "x notin a",
  "=x",
  "env=dev=x",
  "env!=",
  "!",
  "!env=dev",
  "a/b/c",
  "env=a b",
  "env=$",
  "-env",
  "in",
  "notin",
  "env in(dev)",
  "in in (in)",
  "env=in",
  "Env=dev",
  "env=%20",
  "x".repeat(64),
  `env=${"x".repeat(64)}`,
  "/env",
  "ex ample/env",
];

async function selectable(s: Session): Promise<void> {
  await s.post(core(s, "secrets"), { metadata: { name: "opaque" } }, { quiet: true });
  await s.post(core(s, "secrets"), { metadata: { name: "typed" }, type: "example.org/typed" }, { quiet: true });
  await s.post(widgets(s), widget("red", {}), { quiet: true });
  await s.post(widgets(s), widget("blue", { color: "blue", size: 5 }), { quiet: true });
  const headless = { metadata: { name: "headless" }, spec: { clusterIP: "None", selector: { a: "b" } } };
  await s.post(core(s, "services"), headless, { quiet: true });
  await s.post(core(s, "configmaps"), configMap("a"), { quiet: true });
  await s.post(core(s, "configmaps"), configMap("b"), { quiet: true });
}

const fieldSelectors: readonly (readonly [string, string])[] = [
  ["configmaps", "metadata.name=a"],
  ["configmaps", "metadata.name==a"],
  ["configmaps", "metadata.name!=a"],
  ["configmaps", "metadata.name=a,metadata.name!=a"],
  ["configmaps", "metadata.name=a,metadata.name=b"],
  ["configmaps", "metadata.name=missing"],
  ["configmaps", "metadata.namespace=default"],
  ["configmaps", "metadata.namespace!=default"],
  ["configmaps", "metadata.uid=x"],
  ["configmaps", "spec.foo=bar"],
  ["configmaps", "metadata.name"],
  ["configmaps", "metadata.name>a"],
  ["configmaps", "metadata.name=a\\,b"],
  ["configmaps", "metadata.name=a\\x"],
  ["configmaps", ","],
  ["configmaps", ""],
  ["configmaps", "metadata.name="],
  ["secrets", "type=Opaque"],
  ["secrets", "type!=Opaque"],
  ["secrets", "type=example.org/typed,metadata.name=typed"],
  ["secrets", "data.a=b"],
  ["services", "spec.clusterIP=None"],
  ["services", "spec.type=ClusterIP"],
  ["services", "spec.foo=bar"],
  ["pods", "spec.nodeName="],
  ["pods", "status.phase=Running,spec.restartPolicy=Always"],
  ["pods", "spec.foo=bar"],
  ["events", "reason=x"],
  ["events", "spec.foo=bar"],
];

export const selectorCases: readonly Case[] = [
  scenario("label selectors", async (s) => {
    for (const [name, labels] of Object.entries(labelled)) {
      await s.post(core(s, "configmaps"), { metadata: { name, labels } }, { quiet: true });
      await s.post(widgets(s), widget(name, {}, { labels }), { quiet: true });
    }
    for (const selector of selectors) {
      await s.get(`${core(s, "configmaps")}?labelSelector=${encodeURIComponent(selector)}`, {
        title: `ConfigMaps with ${selector}`,
        part: names,
      });
      await s.get(`${widgets(s)}?labelSelector=${encodeURIComponent(selector)}`, {
        title: `Widgets with ${selector}`,
        part: names,
      });
    }
    await s.get(`${core(s, "configmaps")}?labelSelector=env%3Ddev&labelSelector=tier`, { part: names });
  }),

  scenario("field selectors", async (s) => {
    await selectable(s);
    for (const [resource, selector] of fieldSelectors) {
      await s.get(`${core(s, resource)}?fieldSelector=${encodeURIComponent(selector)}`, {
        title: `${resource} with ${selector}`,
        part: names,
      });
    }
    for (const selector of [
      "metadata.name=red",
      "spec.color=red",
      "spec.color!=red",
      "spec.size=5",
      "spec.size=",
      "spec.color=blue,spec.size=5",
      "spec.foo=bar",
      "metadata.namespace=default",
      "status.phase=x",
      "spec.color",
    ]) {
      await s.get(`${widgets(s)}?fieldSelector=${encodeURIComponent(selector)}`, {
        title: `widgets with ${selector}`,
        part: names,
      });
      await s.get(`${widgets(s, "", "v1beta1")}?fieldSelector=${encodeURIComponent(selector)}`, {
        title: `v1beta1 widgets with ${selector}`,
        part: names,
      });
    }
    const across = `fieldSelector=metadata.namespace%3D${s.namespace}`;
    await s.get(`/api/v1/configmaps?${across}`, { part: names });
    await s.get(`/apis/example.org/v1/widgets?${across}`, { part: names });
    await s.get(`/api/v1/configmaps?${across}%2Cmetadata.name%3Da`, { part: names });
    await s.get(`/api/v1/namespaces?fieldSelector=metadata.name%3D${s.namespace}`, { part: names });
    await s.get(`/api/v1/namespaces?fieldSelector=metadata.name%3D${s.namespace}%2Cstatus.phase%3DActive`, {
      part: names,
    });
    await s.get(`/api/v1/namespaces?fieldSelector=status.phase%3DNope`, { part: names });
    await s.get(`/api/v1/namespaces?fieldSelector=spec.x%3DNope`, { part: names });
    await s.get(
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?fieldSelector=metadata.name%3Dwidgets.example.org",
      { part: names },
    );
    await s.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions?fieldSelector=spec.group%3Dexample.org", {
      part: names,
    });
    await s.get(`${inGroup(s, "apps/v1/deployments")}?fieldSelector=spec.foo%3Dbar`, { part: names });
    await s.get(`${core(s, "configmaps")}?fieldSelector=metadata.name%3Da&labelSelector=x`, { part: names });
    await s.get(`${core(s, "configmaps", "a")}?fieldSelector=metadata.name%3Db`, {
      part: (body) => body.metadata?.name ?? body,
    });
  }),

  scenario("events by what they are about", async (s) => {
    const event = (name: string, involvedObject: object, more: object = {}): object => ({
      metadata: { name },
      involvedObject: { namespace: s.namespace, ...involvedObject },
      ...more,
    });
    const uid = "01234567-89ab-cdef-0123-456789abcdef";
    await s.post(
      core(s, "events"),
      event(
        "one",
        { kind: "Widget", name: "a", uid, apiVersion: "example.org/v1", resourceVersion: "7", fieldPath: "spec" },
        {
          reason: "Made",
          type: "Normal",
          source: { component: "maker" },
          message: "it is made",
          count: 1,
          firstTimestamp: "2026-01-02T03:04:05Z",
          lastTimestamp: "2026-01-02T03:04:05Z",
        },
      ),
    );
    await s.post(
      core(s, "events"),
      event(
        "two",
        { kind: "Widget", name: "b" },
        { reason: "Lost", type: "Warning", reportingComponent: "finder", reportingInstance: "finder-1" },
      ),
    );
    for (const selector of [
      `involvedObject.uid=${uid}`,
      "involvedObject.name=a",
      "involvedObject.kind=Widget,involvedObject.name=b",
      `involvedObject.namespace=${s.namespace}`,
      "involvedObject.apiVersion=example.org/v1",
      "involvedObject.resourceVersion=7",
      "involvedObject.fieldPath=spec",
      "reason=Lost",
      "reportingComponent=finder",
      "reportingComponent=maker",
      "source=maker",
      "source=finder",
      "type=Warning",
      "type!=Warning",
      "metadata.name=one",
      "regarding.name=a",
      "message=x",
    ]) {
      await s.get(`${core(s, "events")}?fieldSelector=${encodeURIComponent(selector)}`, {
        title: `events with ${selector}`,
        part: names,
      });
    }
    for (const selector of [
      `regarding.uid=${uid}`,
      "regarding.name=a",
      "reportingController=finder",
      "reason=Made",
      "type=Normal",
      "reportingComponent=finder",
      "involvedObject.name=a",
      "metadata.name=two",
    ]) {
      await s.get(`${inGroup(s, "events.k8s.io/v1/events")}?fieldSelector=${encodeURIComponent(selector)}`, {
        title: `new events with ${selector}`,
        part: names,
      });
    }
    await s.get(inGroup(s, "events.k8s.io/v1/events", "one"));
    await s.get(inGroup(s, "events.k8s.io/v1/events", "two"));
    await s.get(core(s, "events", "one"));
    await s.get(core(s, "events"));
  }),

  scenario("fields of every kind", async (s) => {
    for (const version of servedVersions) {
      const base = version.includes("/") ? `/apis/${version}` : `/api/${version}`;
      const { body } = await s.get(base, { quiet: true });
      const listed = body.resources.filter(({ name, verbs }: Loose) => !name.includes("/") && verbs.includes("list"));
      for (const { name, namespaced } of listed) {
        const path = namespaced ? `${base}/namespaces/${s.namespace}/${name}` : `${base}/${name}`;
        for (const field of ["metadata.name", "metadata.namespace", "spec.nodeName", "spec.none"]) {
          await s.get(`${path}?fieldSelector=${field}%3Dnone`, { part: names });
        }
      }
    }
  }),
];
