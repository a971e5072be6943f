// SPDX-License-Identifier: Apache-2.0
// An overlay over an API server in memory. Tests count the requests that the server gets, and decide which of them fail.
import type { KubeClient } from "@purlin/kube-client";
import type { ControllerClient } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { identityOf, LiveReads } from "../src/overlay/live-reads.ts";
import { Overlay } from "../src/overlay/overlay.ts";
import { createOverlayClient } from "../src/overlay/overlay-client.ts";
import type { OverlayEntry, Writer } from "../src/overlay/overlay-entry.ts";

const verbs = ["apply", "create", "update", "patch", "delete"] as const;

/** An overlay and what happens to it. */
interface OverlayStage extends AsyncDisposable {
  readonly overlay: Overlay;
  readonly client: ControllerClient;
  /** The writes that the live server got, such as `create` or `create (stored)`: all should be dry runs. */
  readonly sent: string[];
  /** The changes that the overlay reported, such as `added a`. */
  readonly changes: string[];
  /** Who writes. */
  writer: Writer;
  /** The error of the next write that the live server gets. */
  refusal: unknown;
  /** The error of every list. */
  unlisted: unknown;
  entry(object: KubeObject): OverlayEntry | undefined;
}

/** Makes one over the server of a client. */
export function overlayStage(
  base: KubeClient,
  { hasControllerRights = false }: { readonly hasControllerRights?: boolean } = {},
): OverlayStage {
  const sent: string[] = [];
  const changes: string[] = [];
  const write = (verb: (typeof verbs)[number]) => async (one: never, two: never, three: never) => {
    const options = (verb === "patch" ? three : two) as { readonly dryRun?: boolean } | undefined;
    sent.push(options?.dryRun === true ? verb : `${verb} (stored)`);
    const { refusal } = stage;
    stage.refusal = undefined;
    if (refusal !== undefined) throw refusal;
    return (base[verb] as (one: never, two: never, three: never) => Promise<KubeObject>)(one, two, three);
  };
  const list: KubeClient["list"] = async (type, options) => {
    if (stage.unlisted !== undefined) throw stage.unlisted;
    return base.list(type, options);
  };
  const live = { ...base, list, ...Object.fromEntries(verbs.map((verb) => [verb, write(verb)])) } as KubeClient;
  const overlay = new Overlay({
    live: new LiveReads(live),
    hasControllerRights,
    onChange: ({ type, object }) => void changes.push(`${type} ${object.metadata.name}`),
    writer: () => stage.writer,
  });
  const stage: OverlayStage = {
    overlay,
    client: createOverlayClient(overlay),
    sent,
    changes,
    writer: { controller: "test", key: "default/test", round: 1 },
    refusal: undefined,
    unlisted: undefined,
    entry: (object) => overlay.entries.get(identityOf(object)),
    [Symbol.asyncDispose]: () => overlay.close(),
  };
  return stage;
}

/** A ConfigMap in the namespace `default`. */
export function configMap(
  name: string,
  data: Readonly<Record<string, string>> = {},
  namespace = "default",
): KubeObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data };
}

/** The definition of `apps.example.org`, with the properties of its spec. */
export function appDefinition(properties: JsonObject, more: JsonObject = {}): KubeObject {
  const schema = { type: "object", properties: { spec: { type: "object", properties } } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "apps.example.org" },
    spec: {
      group: "example.org",
      names: { kind: "App", listKind: "AppList", plural: "apps", singular: "app" },
      scope: "Namespaced",
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
      ...more,
    },
  };
}
