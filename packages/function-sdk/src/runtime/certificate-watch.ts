// SPDX-License-Identifier: Apache-2.0
import { type FSWatcher, watch } from "node:fs";
import { errorText } from "../errors/error-text.ts";
import type { Logger } from "../logging/logger.ts";
import { type Certificates, readCertificates, sameCertificates } from "./certificates.ts";

/** Whoever rotates certificates writes three files; wait until it is quiet before reading them. */
const settleMs = 100;

/** Some file systems tell nobody about changes, and a directory may be replaced as a whole. */
const lookAnywayMs = 60_000;

/** What a certificate watch needs. */
interface CertificateWatchOptions {
  readonly directory: string;
  readonly current: Certificates;
  readonly onChange: (certificates: Certificates) => void;
  readonly log: Logger;
}

/** Watches a certificate directory until it is closed. */
export class CertificateWatch {
  readonly #options: CertificateWatchOptions;
  readonly #interval: NodeJS.Timeout;
  #current: Certificates;
  #watcher: FSWatcher | undefined;
  #settling: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: CertificateWatchOptions) {
    this.#options = options;
    this.#current = options.current;
    this.#watcher = this.#watch();
    this.#interval = setInterval(() => this.#look(), lookAnywayMs).unref();
  }

  close(): void {
    this.#closed = true;
    this.#watcher?.close();
    clearInterval(this.#interval);
    clearTimeout(this.#settling);
  }

  #watch(): FSWatcher | undefined {
    try {
      const watcher = watch(this.#options.directory, { persistent: false }, () => this.#soon());
      // The directory went away; the interval finds the one that takes its place.
      watcher.on("error", () => watcher.close());
      return watcher;
    } catch (error) {
      this.#options.log.debug("cannot watch the certificates, looking once a minute", { error });
      return undefined;
    }
  }

  #soon(): void {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.#look(), settleMs).unref();
  }

  #look(): void {
    const { directory, log } = this.#options;
    readCertificates(directory).then(
      (found) => this.#take(found),
      (error: unknown) => {
        if (!this.#closed) log.error("cannot use the new certificates, keeping the old", { error: errorText(error) });
      },
    );
  }

  #take(found: Certificates): void {
    if (this.#closed || sameCertificates(found, this.#current)) return;
    this.#current = found;
    this.#options.onChange(found);
    this.#options.log.info("using new certificates", { directory: this.#options.directory });
  }
}
