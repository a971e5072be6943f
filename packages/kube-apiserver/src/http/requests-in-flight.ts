// SPDX-License-Identifier: Apache-2.0
import { badRequest, tooManyRequests } from "@purlin/kube-objects/errors";
import { goQuote } from "@purlin/kube-objects/json";

/** How many requests one user may have under way. */
export interface InFlightLimits {
  /** Answered at the same time. Default 400, as many as the reference answers for all users together. */
  readonly atOnce: number;
  /** Waiting for their turn; more are refused. Default 1,600. */
  readonly waiting: number;
  /** The text for a user that is refused. */
  readonly refusal?: (user: string) => string;
}

const inFlightLimits: InFlightLimits = { atOnce: 400, waiting: 1600 };

interface OfUser {
  running: number;
  /** In the order in which they came. */
  readonly waiting: Set<() => void>;
}

/** Has a callback called when the client has gone. */
type OnGone = (callback: () => void) => void;

/** The server asks clients to come back after this time. */
const retryAfterSeconds = 1;

/**
 * Keeps one user from taking all of the server: each has a limited number of requests in progress and waiting, and is refused more with
 * 429. Watches count until they have begun.
 */
export class RequestsInFlight {
  readonly #limits: InFlightLimits;
  readonly #users = new Map<string, OfUser>();

  constructor(limits: InFlightLimits = inFlightLimits) {
    this.#limits = limits;
  }

  /**
   * Waits for a turn. Throws 429 when too many wait already, unless it may not be refused, and 400 when the client goes meanwhile. Call what
   * it gives when the request has been answered.
   */
  async begin(user: string, onGone?: OnGone, mayRefuse = true): Promise<() => void> {
    const own = this.#users.get(user) ?? { running: 0, waiting: new Set() };
    this.#users.set(user, own);
    if (own.running >= this.#limits.atOnce) {
      await this.#turn(own, onGone, mayRefuse ? user : undefined);
    } else {
      own.running += 1;
    }
    let isOver = false;
    return () => {
      if (!isOver) {
        isOver = true;
        this.#end(user, own);
      }
    };
  }

  #turn(own: OfUser, onGone: OnGone | undefined, refused: string | undefined): Promise<void> {
    const { atOnce, waiting, refusal } = this.#limits;
    if (refused !== undefined && own.waiting.size >= waiting) {
      const user = refused;
      const text = `too many requests of user ${goQuote(user)}: at most ${atOnce} are answered at once and ${waiting} wait: try again later, or start the server with a larger --max-requests-inflight`;
      throw tooManyRequests(refusal?.(user) ?? text, retryAfterSeconds);
    }
    return new Promise((resolve, reject) => {
      own.waiting.add(resolve);
      onGone?.(() => {
        if (own.waiting.delete(resolve)) reject(badRequest("the client has gone"));
      });
    });
  }

  /** The next request is the one that has waited longest. */
  #end(user: string, own: OfUser): void {
    for (const next of own.waiting) {
      own.waiting.delete(next);
      next();
      return;
    }
    own.running -= 1;
    if (own.running === 0) this.#users.delete(user);
  }
}

/** Limits connections that switch to another protocol: as many of one user as requests are answered at once. None waits. */
export function upgradedConnections({ atOnce }: InFlightLimits = inFlightLimits): RequestsInFlight {
  const refusal = (user: string): string =>
    `too many upgraded connections of user ${goQuote(user)}: at most ${atOnce} are open at once: close some, or start the server with a larger --max-requests-inflight`;
  return new RequestsInFlight({ atOnce, waiting: 0, refusal });
}

/** Large responses of one user that are made, or that the client has not taken yet. */
const largeAtOnce = 8;

/**
 * Limits how many large responses of one user are made, or wait in memory for the client to take them; the others wait. The number is a
 * balance: eight slow clients of a user delay the other large responses of that user, and eight lists of large objects take some 300 MiB.
 * Those that wait count as requests in progress, so they are at most half of these: the rest is for short requests.
 */
export function largeResponses({ atOnce }: InFlightLimits = inFlightLimits): RequestsInFlight {
  const waiting = Math.max(0, Math.floor(atOnce / 2) - largeAtOnce);
  const refusal = (user: string): string =>
    `too many large responses of user ${goQuote(user)}: ${largeAtOnce} are being sent and ${waiting} wait: read them faster, request fewer objects at once with limit=, or try again later`;
  return new RequestsInFlight({ atOnce: largeAtOnce, waiting, refusal });
}

const probes: ReadonlySet<string> = new Set(["/livez", "/readyz", "/healthz"]);

/** Whether a path is answered whatever else is under way. */
export function isExempt(path: string): boolean {
  return probes.has(path) || [...probes].some((probe) => path.startsWith(`${probe}/`));
}
