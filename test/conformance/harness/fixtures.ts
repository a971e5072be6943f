// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import type { Loose } from "./loose.ts";
import type { ServerUnderTest } from "./server-under-test.ts";
import { Session } from "./session.ts";
import { widgetCrd } from "./widget-crd.ts";

/** The group of the widgets that all cases share. */
export const widgetGroup = "example.org";

/** Where CRDs are. */
export const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** The path of a core collection in the session's namespace, or of one object in it. */
export function core(session: Session, resource: string, name = ""): string {
  return `/api/v1/namespaces/${session.namespace}/${resource}${name && `/${name}`}`;
}

/** The same for a resource of a group, written `apps/v1/deployments`. */
export function inGroup(session: Session, resource: string, name = ""): string {
  const [group, version, plural] = resource.split("/");
  return `/apis/${group}/${version}/namespaces/${session.namespace}/${plural}${name && `/${name}`}`;
}

/** The path of the session's widgets. */
export function widgets(session: Session, name = "", version = "v1"): string {
  return inGroup(session, `${widgetGroup}/${version}/widgets`, name);
}

/** A group of the session's own, for cases that change a CRD. */
export function ownGroup(session: Session): string {
  return `${session.namespace}.example.org`;
}

/** The path of objects of the session's own CRD. */
export function ownWidgets(session: Session, name = "", version = "v1"): string {
  return inGroup(session, `${ownGroup(session)}/${version}/widgets`, name);
}

/** The path of the session's own CRD. */
export function ownCrd(session: Session): string {
  return `${crds}/widgets.${ownGroup(session)}`;
}

export function configMap(name: string, data: Record<string, string> = { a: "1" }): Loose {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data };
}

export function widget(name: string, spec: Loose = { size: 1 }, metadata: Loose = {}): Loose {
  return { apiVersion: `${widgetGroup}/v1`, kind: "Widget", metadata: { name, ...metadata }, spec };
}

/** A widget of the session's own CRD. */
export function ownWidget(session: Session, name: string, spec: Loose = { size: 1 }): Loose {
  return { ...widget(name, spec), apiVersion: `${ownGroup(session)}/v1` };
}

export function deployment(name: string): Loose {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "example.org/main:1" }] } },
    },
  };
}

/** Creates the session's own widget CRD and waits until its objects can be written. Not part of the transcript. */
export async function withOwnWidgets(session: Session, change: (crd: Loose) => void = () => {}): Promise<void> {
  const crd = widgetCrd(ownGroup(session));
  change(crd);
  await withCrd(session, crd);
}

/** Creates a CRD and waits until its objects can be written. Not part of the transcript. */
export async function withCrd(session: Session, crd: Loose): Promise<void> {
  const created = await session.post(crds, crd, { quiet: true });
  if (created.code !== 201) throw new Error(`cannot create ${crd.metadata.name}: ${created.text}`);
  await session.until(`${crds}/${crd.metadata.name}`, ({ body }) => isTrue(body, "Established"));
  const { group, versions, names } = crd.spec;
  for (const { name, served } of versions) {
    if (served) await session.until(`/apis/${group}/${name}/${names.plural}`, ({ code }) => code === 200);
  }
}

/** Whether a condition of an object is True. */
export function isTrue(object: Loose, type: string): boolean {
  return object.status?.conditions?.some((one: Loose) => one.type === type && one.status === "True") ?? false;
}

/** Waits until the clock of the server shows another second: times in objects have no smaller unit. */
export function nextSecond(): Promise<void> {
  return delay(1100);
}

/** Creates what all cases share. */
export async function prepareServer(server: ServerUnderTest): Promise<void> {
  const session = new Session(server, "default");
  await withCrd(session, widgetCrd(widgetGroup));
  // The reference makes the first writers of a new kind wait for two seconds.
  if (server.name === "reference") await delay(2000);
}
