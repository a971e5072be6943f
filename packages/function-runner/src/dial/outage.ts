// SPDX-License-Identifier: Apache-2.0

import { type Metadata, type ServiceError, status } from "@grpc/grpc-js";
import type { Clock } from "@purlin/base";

/** A function that restarts is back by then; one that is not is down. */
export const longOutageMs = 15_000;

/** How long a function has not been reachable, and why. */
export class Outage {
  readonly #clock: Clock;
  readonly #onLong: () => void;
  #problem: string | undefined;
  #cancel: (() => void) | undefined;
  #isLong = false;

  /** `onLong` is called when the outage has lasted so long that calls must not wait for its end. */
  constructor(clock: Clock, onLong: () => void) {
    this.#clock = clock;
    this.#onLong = onLong;
  }

  /** Why no address is reachable now; undefined while one is, or before the first attempt. */
  get problem(): string | undefined {
    return this.#problem;
  }

  set problem(problem: string | undefined) {
    this.#problem = problem;
    if (problem === undefined) this.end();
    else this.#cancel ??= this.#clock.schedule(longOutageMs, () => this.#last());
  }

  get isLong(): boolean {
    return this.#isLong;
  }

  /** Ends the outage: the function is reachable again, or the connection is closed. */
  end(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#isLong = false;
  }

  #last(): void {
    this.#isLong = true;
    this.#onLong();
  }
}

/**
 * The error of a call whose answer breaks the rules of gRPC, in words that say how. gRPC's client tells what it stumbled
 * over: a web page is a message of 1.7 GB to it, half an answer a method that is not implemented.
 */
export function explainOddAnswer(error: ServiceError, headers: Metadata | undefined): ServiceError {
  const type = headers?.get("content-type")[0]?.toString();
  if (type !== undefined && !type.startsWith("application/grpc") && !isHttpStatus(error)) {
    return restate(error, status.UNKNOWN, `the function answers with ${JSON.stringify(type)}, not with gRPC`);
  }
  // gRPC's client throws an error without a status for an unknown compression: it becomes a status without members.
  if (error.code === undefined) {
    return restate(error, status.INTERNAL, "the function's answer is compressed in a way this runner does not know");
  }
  if (error.code === status.UNIMPLEMENTED && error.details === "No message received") {
    return restate(error, status.INTERNAL, "the function says OK and sends no whole answer");
  }
  return Number.isInteger(error.code) ? error : restate(error, status.UNKNOWN, "the function's status is not a number");
}

const isHttpStatus = ({ details }: ServiceError): boolean => details?.startsWith("Received HTTP status code");

function restate(cause: ServiceError, code: status, details: string): ServiceError {
  return Object.assign(new Error(details, { cause }), { code, details, metadata: cause.metadata });
}
