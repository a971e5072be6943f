// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import { cacheDirectory } from "./cache-directory.ts";
import { lockFolder } from "./lock-folder.ts";
import { directoryOf, type Peer } from "./peer.ts";
import { pipArguments, pythonOf, pythonSdk } from "./public-sdks.ts";

/** The Python of the Debian root, for which its compiled parts are made. */
const pythonVersion = "3.11";

/** The Python whose pip installs it. Only a path: the catalog is read on machines without peers. */
const python = pythonOf(directoryOf(pythonSdk, cacheDirectory));

/** The framework that most operators in Python are written with, in `/provider` of a root on Debian. */
export const kopf: Peer = {
  name: "kopf",
  version: "1.38.0",
  needs: [{ program: python, args: ["--version"], remedy: 'run "npm run peers -- function-sdk"' }],
  commands: (directory) => [
    {
      program: python,
      args: pipArguments(
        lockFolder(kopf.name, kopf.version),
        ...["--python-version", pythonVersion, "--target", join(directory, "provider")],
      ),
    },
  ],
  proof: (directory) => ({ program: "sh", args: ["-c", `ls -d ${join(directory, "provider", "kopf-*")}`] }),
};
