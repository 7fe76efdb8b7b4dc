# make docker-build compiles the operator and lays out the few files beside it before
# this runs, with the Go that the machine has and from modules whose checksums are in
# go.sum (tools/image). So no base image is pulled that would have to be trusted, and
# make image makes the same image without Docker.
FROM scratch
ARG TARGETARCH
WORKDIR /
COPY dist/image/base/ /
COPY dist/image/manager-${TARGETARCH} /manager
ENV PATH=/ SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
USER 65532:65532
ENTRYPOINT ["/manager"]
