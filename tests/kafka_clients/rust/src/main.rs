//! `client SERVERS TOPIC CODEC`: makes a topic, writes three records and reads them again, with rskafka as it comes.
//!
//! SERVERS: host:port, separated by commas. CODEC: none, gzip or snappy. Prints a line for each thing that was
//! seen, which the test compares; ends with 1 and the error where the broker or the client refuses.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use chrono::DateTime;
use rskafka::client::partition::{Compression, OffsetAt, UnknownTopicHandling};
use rskafka::client::ClientBuilder;
use rskafka::record::Record;

const PARTITIONS: i32 = 2;
const REPLICAS: i16 = 3;
const PARTITION: i32 = 1;
const CREATE_LIMIT_MS: i32 = 10_000;
const WAIT_MS: i32 = 1_000;
const BYTES_MAX: i32 = 1_000_000;
const FIRST_MS: i64 = 1_700_000_000_000;
/// Of everything: the client itself tries for ever.
const LIMIT: Duration = Duration::from_secs(60);

fn codec(name: &str) -> Result<Compression, String> {
    match name {
        "none" => Ok(Compression::NoCompression),
        "gzip" => Ok(Compression::Gzip),
        "snappy" => Ok(Compression::Snappy),
        _ => Err(format!("no codec {name}: none, gzip or snappy")),
    }
}

fn record(number: i64, key: Option<&str>, value: Option<&str>, headers: &[(&str, &str)]) -> Record {
    Record {
        key: key.map(|text| text.as_bytes().to_vec()),
        value: value.map(|text| text.as_bytes().to_vec()),
        headers: headers
            .iter()
            .map(|(name, text)| (name.to_string(), text.as_bytes().to_vec()))
            .collect::<BTreeMap<_, _>>(),
        timestamp: DateTime::from_timestamp_millis(FIRST_MS + number).expect("within chrono's years"),
    }
}

fn text(bytes: &Option<Vec<u8>>) -> String {
    match bytes {
        None => "null".to_string(),
        Some(some) => String::from_utf8_lossy(some).into_owned(),
    }
}

async fn go_through(servers: &str, topic: &str, compression: Compression) -> Result<(), Box<dyn Error>> {
    let servers = servers.split(',').map(str::to_string).collect();
    let client = ClientBuilder::new(servers).client_id("rskafka").build().await?;
    let controller = client.controller_client()?;
    controller.create_topic(topic, PARTITIONS, REPLICAS, CREATE_LIMIT_MS).await?;
    let partition = client.partition_client(topic, PARTITION, UnknownTopicHandling::Retry).await?;
    let written = vec![
        record(0, Some("k"), Some("a"), &[("from", "rust"), ("empty", "")]),
        record(1, None, Some("b"), &[]),
        record(2, Some("gone"), None, &[]),
    ];
    println!("written at {:?}", partition.produce(written, compression).await?);
    println!("earliest {}", partition.get_offset(OffsetAt::Earliest).await?);
    println!("latest {}", partition.get_offset(OffsetAt::Latest).await?);
    let (records, high_watermark) = partition.fetch_records(0, 1..BYTES_MAX, WAIT_MS).await?;
    for one in records {
        let record = one.record;
        let headers: Vec<String> =
            record.headers.iter().map(|(name, value)| format!("{name}={}", String::from_utf8_lossy(value))).collect();
        println!(
            "{} {} {} [{}] {}",
            one.offset,
            text(&record.key),
            text(&record.value),
            headers.join(","),
            record.timestamp.timestamp_millis()
        );
    }
    println!("high watermark {high_watermark}");
    let listed = client.list_topics().await?;
    let found = listed.iter().find(|one| one.name == topic).ok_or("the topic is not listed")?;
    println!("partitions {:?}", found.partitions);
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [servers, topic, name] = arguments.as_slice() else {
        return Err("client SERVERS TOPIC CODEC".into());
    };
    tokio::time::timeout(LIMIT, go_through(servers, topic, codec(name)?)).await?
}
