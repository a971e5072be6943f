// SPDX-License-Identifier: Apache-2.0
import { goQuote, tooManyRequests } from "@purlin/kube-objects";

/** How many requests one user may have under way. */
export interface InFlightLimits {
  /** Answered at the same time. Default 400, as many as the reference answers for all users together. */
  readonly atOnce: number;
  /** Waiting for their turn; more are refused. Default 1,600. */
  readonly waiting: number;
}

export const IN_FLIGHT_LIMITS: InFlightLimits = { atOnce: 400, waiting: 1600 };

interface OfUser {
  running: number;
  readonly waiting: (() => void)[];
}

/** The server asks clients to come back after this time. */
const RETRY_AFTER_SECONDS = 1;

/**
 * Keeps one user from taking all of the server: each has so many requests answered at once, so many that wait, and is refused more with
 * 429. Watches count until they have begun.
 */
export class RequestsInFlight {
  readonly #limits: InFlightLimits;
  readonly #users = new Map<string, OfUser>();

  constructor(limits: InFlightLimits = IN_FLIGHT_LIMITS) {
    this.#limits = limits;
  }

  /** Waits for a turn. Throws 429 when too many wait already. Call what it gives when the request has been answered. */
  async begin(user: string): Promise<() => void> {
    const own = this.#users.get(user) ?? { running: 0, waiting: [] };
    this.#users.set(user, own);
    if (own.running >= this.#limits.atOnce) {
      await this.#turn(user, own);
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

  #turn(user: string, own: OfUser): Promise<void> {
    const { atOnce, waiting } = this.#limits;
    if (own.waiting.length >= waiting) {
      throw tooManyRequests(
        `too many requests of user ${goQuote(user)}: at most ${atOnce} are answered at once and ${waiting} wait, please try again later`,
        RETRY_AFTER_SECONDS,
      );
    }
    return new Promise((resolve) => {
      own.waiting.push(resolve);
    });
  }

  /** The turn goes to the one who has waited longest. */
  #end(user: string, own: OfUser): void {
    const next = own.waiting.shift();
    if (next !== undefined) {
      next();
      return;
    }
    own.running -= 1;
    if (own.running === 0) {
      this.#users.delete(user);
    }
  }
}

const PROBES: ReadonlySet<string> = new Set(["/livez", "/readyz", "/healthz"]);

/** Whether a path is answered whatever else is under way. */
export function isExempt(path: string): boolean {
  return PROBES.has(path) || [...PROBES].some((probe) => path.startsWith(`${probe}/`));
}
