// SPDX-License-Identifier: Apache-2.0

export { follow as run } from "./ls-command.ts";
