module purlin.dev/peers/crossplane-answers

go 1.26

require (
	github.com/Masterminds/semver/v3 v3.5.0
	github.com/crossplane/crossplane-runtime/v2 v2.4.0
	github.com/crossplane/crossplane/apis/v2 v2.4.0
)
