// SPDX-License-Identifier: Apache-2.0
import type { FunctionTarget } from "../function-runner.ts";
import { RunnerError, textOf } from "../runner-error.ts";
import { type ConnectionOptions, FunctionConnection } from "./connection.ts";

/** How long calls on a connection that was replaced may take. */
export const drainLimitMs = 120_000;

/** Who knows which revisions still serve. */
export interface LiveRevisions {
  /** The names of all revisions that may be called: those that exist and are Active. */
  list(): Promise<Iterable<string>>;
}

/** What a pool holds right now. */
export interface PoolStats {
  readonly connections: number;
  /** Connections that were replaced and wait for their last calls. */
  readonly draining: number;
  readonly openSockets: number;
  readonly callsInFlight: number;
}

interface Entry {
  readonly endpoint: string;
  readonly plaintext: boolean;
  readonly connection: FunctionConnection;
}

/** Connections by function revision. */
export class ConnectionPool {
  readonly #options: ConnectionOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #draining = new Set<FunctionConnection>();
  #closed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** The connection to a revision, a new one when its endpoint has changed. The old one finishes its calls. */
  connectionTo({ revisionName, endpoint, plaintext = false, functionName }: FunctionTarget): FunctionConnection {
    if (this.#closed) throw new RunnerError("CLOSED", "the function runner has been shut down");
    const known = this.#entries.get(revisionName);
    if (known !== undefined && known.endpoint === endpoint && known.plaintext === plaintext) return known.connection;
    const connection = this.#connect(endpoint, plaintext, `Function "${functionName}" revision "${revisionName}"`);
    this.#entries.set(revisionName, { endpoint, plaintext, connection });
    if (known !== undefined) this.#retire(known.connection);
    return connection;
  }

  #connect(endpoint: string, plaintext: boolean, owner: string): FunctionConnection {
    try {
      return new FunctionConnection(endpoint, { ...this.#options, ...(plaintext ? { tls: undefined } : {}) });
    } catch (error) {
      throw new RunnerError("BAD_TARGET", `cannot connect to ${owner}: ${textOf(error)}`, { cause: error });
    }
  }

  #retire(connection: FunctionConnection): void {
    for (const old of this.#draining) if (old.isGone) this.#draining.delete(old);
    connection.drain(drainLimitMs);
    this.#draining.add(connection);
  }

  /** Retires the connections of revisions that no longer serve, and says how many. */
  async collect(live: LiveRevisions): Promise<number> {
    if (this.#entries.size === 0) return 0;
    // Taken before the list, which cannot know a revision that is called for the first time while it is read.
    const candidates = [...this.#entries];
    const names = new Set(await live.list());
    let retired = 0;
    for (const [name, entry] of candidates) {
      if (names.has(name) || this.#entries.get(name) !== entry) continue;
      this.#entries.delete(name);
      this.#retire(entry.connection);
      retired++;
    }
    return retired;
  }

  /** Ends all connections and their calls. */
  close(): void {
    this.#closed = true;
    for (const { connection } of this.#entries.values()) this.#draining.add(connection);
    this.#entries.clear();
    for (const connection of this.#draining) connection.close();
  }

  stats(): PoolStats {
    const current = [...this.#entries.values()].map(({ connection }) => connection);
    const all = [...current, ...this.#draining];
    return {
      connections: current.length,
      draining: [...this.#draining].filter(({ isGone }) => !isGone).length,
      openSockets: sum(all.map(({ openSockets }) => openSockets)),
      callsInFlight: sum(all.map(({ callsInFlight }) => callsInFlight)),
    };
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
