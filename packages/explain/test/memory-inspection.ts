// SPDX-License-Identifier: Apache-2.0
// Objects in memory and an inspection of them at a fixed time: recognizers run without a server and without a clock.
import { type KubeReader, NoMatchError } from "@purlin/kube-client";
import { forbidden, notFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { groupOf, type KubeObject, stringAt, type TypeRef } from "@purlin/kube-objects/object";
import { matchesLabels, parseLabelSelector } from "@purlin/kube-objects/selector";
import { refText } from "../src/inspect/facts.ts";
import {
  type Inspection,
  messageContext,
  type Recognized,
  readDefinedKinds,
  type TextContext,
  type TextRule,
} from "../src/inspect/inspection.ts";
import type { RunHistory } from "../src/model/explanation.ts";
import { Reader } from "../src/read/reader.ts";

/** The time of every inspection. */
export const now: number = Date.parse("2026-03-01T12:00:00Z");

/** A time before {@link now}, as objects have it. */
export function secondsAgo(seconds: number): string {
  return new Date(now - seconds * 1000).toISOString().replace(/\.\d+Z$/, "Z");
}

/** Type, status, reason, message and age in seconds of a condition. */
export type ConditionRow = readonly [
  type: string,
  status: string,
  reason?: string | undefined,
  message?: string | undefined,
  ageSeconds?: number,
];

/** An object with conditions, a minute old if they do not say otherwise, and other members of its status. */
export function withConditions(object: KubeObject, rows: readonly ConditionRow[], more: JsonObject = {}): KubeObject {
  const conditions = rows.map(([type, status, reason = "", message, age = 60]) => ({
    type,
    status,
    reason,
    lastTransitionTime: secondsAgo(age),
    ...(message === undefined ? {} : { message }),
  }));
  return { ...object, status: { ...more, conditions } };
}

/** An object that is an hour old. */
export function made(type: string, key: string, rest: JsonObject = {}): KubeObject {
  const [, apiVersion = "", kind = ""] = /^(.*?)\/?([^/]*)$/.exec(type) ?? [];
  const [name = "", namespace] = key.split("/").reverse();
  const { metadata, ...members } = rest;
  const own = { name, ...(namespace === undefined ? {} : { namespace }), uid: `uid-${name}` };
  return {
    apiVersion,
    kind,
    metadata: { ...own, creationTimestamp: secondsAgo(3600), ...(metadata as JsonObject | undefined) },
    ...members,
  };
}

/** A composite resource `App default/NAME`. */
export function app(name: string, spec: JsonObject = {}, metadata: JsonObject = {}): KubeObject {
  return made("example.org/v1/App", `default/${name}`, { metadata, spec });
}

/** A client of objects that never change. */
interface MemoryClient extends Pick<KubeReader, "get" | "list"> {
  /** Each request, such as `get App default/web` or `list Pod`. */
  readonly requests: string[];
}

/** Kinds without objects that are served, and kinds that may not be read. */
interface MemoryOptions {
  readonly served?: readonly string[];
  readonly denied?: readonly string[];
}

/** Makes one. */
export function memoryClient(
  objects: readonly KubeObject[],
  { served = [], denied = [] }: MemoryOptions = {},
): MemoryClient {
  const requests: string[] = [];
  const ofType = ({ apiVersion, kind }: TypeRef): readonly KubeObject[] => {
    const group = groupOf(apiVersion);
    if (denied.includes(kind)) throw forbidden({ group, resource: kind }, "", "no");
    const all = objects.filter((one) => one.kind === kind && one.apiVersion === apiVersion);
    if (all.length === 0 && !served.includes(kind)) throw new NoMatchError({ apiVersion, kind });
    return all;
  };
  return {
    requests,
    get: async (type, { name, namespace }) => {
      requests.push(`get ${type.kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`);
      const found = ofType(type).find((one) => one.metadata.name === name && one.metadata.namespace === namespace);
      if (found === undefined) throw notFound({ group: groupOf(type.apiVersion), resource: type.kind }, name);
      return found;
    },
    list: async (type, { namespace, labelSelector = "", fieldSelector } = {}) => {
      requests.push(`list ${type.kind}`);
      const selector = parseLabelSelector(labelSelector);
      const items = ofType(type)
        .filter((one) => namespace === undefined || one.metadata.namespace === namespace)
        .filter((one) => matchesLabels(selector, one.metadata.labels ?? {}))
        .filter((one) =>
          [undefined, `involvedObject.uid=${stringAt(one, ["involvedObject", "uid"])}`].includes(fieldSelector),
        );
      return { items, resourceVersion: "1" };
    },
  };
}

/** The XRD of `App`, established. */
export const appDefinition: KubeObject = withConditions(
  made("apiextensions.crossplane.io/v2/CompositeResourceDefinition", "apps.example.org", {
    spec: {
      group: "example.org",
      scope: "Namespaced",
      names: { kind: "App", plural: "apps" },
      versions: [{ name: "v1", served: true, referenceable: true }],
    },
  }),
  [["Established", "True", "WatchingCompositeResource"]],
);

/** An inspection of these objects. */
export async function inspectionOf(
  objects: readonly KubeObject[] = [],
  { history, ...options }: MemoryOptions & { readonly history?: RunHistory } = {},
): Promise<Inspection> {
  const reader = new Reader({ client: memoryClient(objects, options) });
  const kinds = await readDefinedKinds(reader);
  return { reader, now, history, kinds, systemNamespace: "crossplane-system" };
}

/** The context of a condition Synced that is False with this message. */
export async function failing(
  message: string,
  { object = app("web"), others = [], ...options }: FailingOptions = {},
): Promise<TextContext> {
  const condition = {
    type: "Synced",
    status: "False",
    reason: "ReconcileError",
    message,
    lastTransitionTime: secondsAgo(60),
  } as const;
  return messageContext(object, condition, await inspectionOf(others, options));
}

interface FailingOptions extends MemoryOptions {
  readonly object?: KubeObject;
  readonly others?: readonly KubeObject[];
  readonly history?: RunHistory;
}

/** What rules say about a text, without what all findings share. */
export interface Outcome {
  readonly code?: string;
  readonly sentence?: string;
  readonly path?: string | undefined;
  readonly via?: string | undefined;
  readonly next?: readonly string[];
  /** The objects to look at for the root cause. */
  readonly waitsFor?: readonly string[];
  readonly healed?: string;
  readonly at?: string | null | undefined;
}

/** What the first rule that recognizes a text says; empty if there is none. */
export async function recognizedBy(rules: readonly TextRule[], context: TextContext): Promise<Outcome> {
  for (const rule of rules) {
    const recognized = await rule(context);
    if (recognized !== undefined) return outcomeOf(recognized);
  }
  return {};
}

function outcomeOf(recognized: Exclude<Recognized, undefined>): Outcome {
  if ("healed" in recognized) {
    return { healed: recognized.healed, ...(recognized.at === undefined ? {} : { at: recognized.at }) };
  }
  const { code, sentence, path, via, next, waitsFor = [] } = recognized;
  return {
    code,
    ...(path === undefined ? {} : { path }),
    ...(via === undefined ? {} : { via }),
    sentence,
    next,
    ...(waitsFor.length === 0 ? {} : { waitsFor: waitsFor.map(({ to }) => refText(to)) }),
  };
}
