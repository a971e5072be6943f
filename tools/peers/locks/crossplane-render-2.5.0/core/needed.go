//go:build needed

package needed
import _ "github.com/crossplane/crossplane/v2/cmd/crossplane/core"
