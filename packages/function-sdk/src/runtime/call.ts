// SPDX-License-Identifier: Apache-2.0
import {
  type Duration,
  isJsonObject,
  type ProtocolVersion,
  type RunFunctionRequest,
  type RunFunctionResponse,
} from "@purlin/function-protocol";
import type { Logger } from "../logging/new-logger.ts";
import { responseTo, type Ttl } from "../response/to.ts";
import type { CallContext } from "./function-handler.ts";

/** Where a call comes from. */
export interface CallOrigin {
  readonly protocol: ProtocolVersion;
  /** When the caller stops waiting. */
  deadline(): Date | undefined;
  /** Calls `listener` once when the caller gives up; at once if it has. */
  onCancel(listener: () => void): void;
}

/** What all calls of a server share. */
export interface CallSettings {
  readonly log: Logger;
  readonly ttl: Ttl;
  /** The same, in the form in which it travels. */
  readonly ttlDuration: Duration | undefined;
}

/** The context of one call. Most handlers use little of it, so each part is created on first use. */
export class Call implements CallContext {
  readonly #settings: CallSettings;
  readonly #origin: CallOrigin;
  readonly #req: RunFunctionRequest;
  #log: Logger | undefined;
  #controller: AbortController | undefined;
  #finished = false;

  constructor(settings: CallSettings, origin: CallOrigin, req: RunFunctionRequest) {
    this.#settings = settings;
    this.#origin = origin;
    this.#req = req;
  }

  get log(): Logger {
    this.#log ??= this.#settings.log.withValues({ tag: this.#req.meta?.tag ?? "", ...subjectOf(this.#req) });
    return this.#log;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = new AbortController();
      this.#controller = controller;
      this.#origin.onCancel(() => {
        // A call that was answered is not cancelled, though the transport closes it in the same way.
        if (!this.#finished) controller.abort(new DOMException("call cancelled by the client", "AbortError"));
      });
    }
    return this.#controller.signal;
  }

  get deadline(): Date | undefined {
    return this.#origin.deadline();
  }

  get protocol(): ProtocolVersion {
    return this.#origin.protocol;
  }

  get ttl(): Ttl {
    return this.#settings.ttl;
  }

  to(req: RunFunctionRequest): RunFunctionResponse {
    return responseTo(req, this.#settings.ttlDuration);
  }

  /** To be called when the handler is done. */
  finish(): void {
    this.#finished = true;
  }
}

/** The composite resource that a call is about, for log lines: a log of many resources can be read for one of them. */
function subjectOf(req: RunFunctionRequest): { readonly xr?: string; readonly namespace?: string } {
  try {
    const { kind, metadata } = req.observed?.composite?.resource?.value ?? {};
    const { name, namespace } = isJsonObject(metadata) ? metadata : {};
    if (typeof kind !== "string" || typeof name !== "string") return {};
    return { xr: `${kind}/${name}`, ...(typeof namespace === "string" && { namespace }) };
  } catch {
    // The object cannot be decoded. The handler reports it where it reads it; logging must not fail.
    return {};
  }
}
