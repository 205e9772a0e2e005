# All nodes of a cluster in one container, on the image of compose/build.sh:
#   docker build --file compose/single.Dockerfile --tag faultline:single compose
# docs/single-container.md says which ports to publish, and which variables there are.
ARG IMAGE=faultline:dev
FROM ${IMAGE}
WORKDIR /tmp
# Commands and HTTP; Kafka's ports as FAULTLINE_KAFKA_PORTS has them by default.
EXPOSE 9400 9500-9502 9510-9512 9520-9522 9530-9532
HEALTHCHECK --interval=5s --timeout=10s --start-period=120s --retries=6 CMD ["python", "-m", "emulator", "cluster-ready"]
CMD ["python", "-m", "emulator", "cluster"]
