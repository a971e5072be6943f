// SPDX-License-Identifier: Apache-2.0

import type { Entry, Store, Watch } from "@purlin/kube-apiserver/kinds";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import type { TakenPlaces } from "./allocation.ts";

const prefix = "//services/";

/**
 * Knows which addresses and ports of nodes Services have, without looking at all of them each time: it starts with those that are
 * there when it is first asked, and takes in what has changed when it is asked again.
 */
export class ServicePlaces implements TakenPlaces {
  readonly #store: Store<JsonObject>;
  /** How many Services have a place; a place that was given twice by accident is free when both are gone. */
  #counts = new Map<string, number>();
  #watch: Watch<JsonObject> | undefined;

  constructor(store: Store<JsonObject>) {
    this.#store = store;
  }

  readonly isAddressTaken = (address: string): boolean => this.#has(address);
  readonly isPortTaken = (port: number): boolean => this.#has(String(port));

  #has(place: string): boolean {
    this.#catchUp();
    return (this.#counts.get(place) ?? 0) > 0;
  }

  #catchUp(): void {
    try {
      const watch = this.#watch ?? this.#start();
      for (let changes = watch.take(); changes.length > 0; changes = watch.take()) {
        for (const { entry, previous } of changes) {
          this.#count(previous, -1);
          this.#count(entry, 1);
        }
      }
    } catch {
      // What has changed since is forgotten already: begin anew.
      this.#watch?.close();
      this.#start();
    }
  }

  #start(): Watch<JsonObject> {
    const { entries, revision } = this.#store.list({ prefix: prefix });
    this.#counts = new Map();
    for (const entry of entries) {
      this.#count(entry, 1);
    }
    this.#watch = this.#store.watch({ scope: prefix, after: revision, onReady: () => {} });
    return this.#watch;
  }

  #count(entry: Entry<JsonObject> | undefined, by: number): void {
    for (const place of entry === undefined ? [] : placesOf(objectAt(entry.value, ["spec"]))) {
      this.#counts.set(place, (this.#counts.get(place) ?? 0) + by);
    }
  }
}

function placesOf(spec: JsonObject): string[] {
  const ports = memberAt(spec, ["ports"]);
  const numbers = Array.isArray(ports) ? ports.filter(isJsonObject).map(({ nodePort }) => nodePort) : [];
  return [
    stringAt(spec, ["clusterIP"]),
    ...[...numbers, spec["healthCheckNodePort"]].map((port) => String(port ?? "")),
  ].filter((place) => place !== "" && place !== "None" && place !== "0");
}
