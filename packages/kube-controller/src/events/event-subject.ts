// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from "@purlin/kube-objects/object";
import type { EventText } from "./event-recorder.ts";

/** Something that happened to an object, with all an event says about it. */
export interface EventSubject {
  readonly event: EventText;
  /** The component that tells. */
  readonly source: string;
  /** The controller that tells, for the event's annotation. */
  readonly controller: string;
  /** Where the event is kept: events of cluster-scoped objects are in `default`. */
  readonly namespace: string;
  readonly involvedObject: InvolvedObject;
  /** The object as one text that tells it from all others. */
  readonly text: string;
}

type InvolvedObject = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
};

export function subjectOf(
  { apiVersion, kind, metadata }: KubeObject,
  { event, source, controller }: Pick<EventSubject, "event" | "source" | "controller">,
): EventSubject {
  const { name = "", namespace, uid, resourceVersion } = metadata;
  const involvedObject = {
    apiVersion,
    kind,
    name,
    ...(namespace && { namespace }),
    ...(uid && { uid }),
    ...(resourceVersion && { resourceVersion }),
  };
  const text = [apiVersion, kind, namespace ?? "", name, uid ?? ""].join("/");
  return { event, source, controller, namespace: namespace || "default", involvedObject, text };
}
