// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";

/** The Docker config with the token of the registry of `purlin up`, in its data directory. Its folder is good for $DOCKER_CONFIG. */
export function dockerConfigPath(directory: string): string {
  return join(directory, "docker", "config.json");
}
